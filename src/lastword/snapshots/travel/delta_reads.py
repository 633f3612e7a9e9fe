"""Rows of a snapshot as Arrow, one partition of the topic at a time, in no particular order.

Read by deltalake's own engine: it decodes the files on all cores, streams, and is ready at once,
where Arrow's dataset module alone takes a third of a second to load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from lastword.errors import SnapshotError
from lastword.snapshots.catalog.layout import HEADERS, RAW_COLUMNS, TIMESTAMP
from lastword.snapshots.catalog.merge import CHANGES
from lastword.snapshots.catalog.snapshot_catalog import delta_errors, unreadable

_BATCH_ROWS = 64 << 10
_TYPES: dict[str, pa.DataType] = {
    "key": pa.large_binary(),
    "value": pa.large_binary(),
    "headers": HEADERS,
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
}


def read_batches(
    uri: str, delta_version: int, partition: int, columns: Sequence[str] = RAW_COLUMNS
) -> Iterator[pa.RecordBatch]:
    """The rows of one partition, decoded ahead on other threads; raises SnapshotError."""
    with delta_errors(uri), _engine_errors(uri):
        table = DeltaTable(uri, version=delta_version)
        expected = _rows_of(table, partition)
        schema = pa.schema([pa.field(name, _TYPES[name]) for name in columns])
        chosen = ", ".join(f'"{name}"' for name in columns)
        rows = (
            QueryBuilder()
            .register("snapshot", table)
            .execute(
                f'SELECT {chosen} FROM snapshot WHERE "partition" = {partition:d}'  # noqa: S608
            )
        )
        seen = 0
        for batch in _pieces(rows, schema):
            seen += batch.num_rows
            yield batch
    if seen != expected:
        raise SnapshotError(
            f"{uri}, Delta version {delta_version}, partition {partition}: "
            f"{seen} rows instead of {expected}",
            hint="files of this Delta version are missing",
        )


@contextmanager
def _engine_errors(uri: str) -> Iterator[None]:
    """Turn the engine's bare exceptions into SnapshotError."""
    try:
        yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise unreadable(uri, error) from error


def _rows_of(table: DeltaTable, partition: int) -> int:
    """The number of rows according to the Delta log."""
    # In plain Python: what Arrow offers for this loads pandas or its dataset module first.
    files = pa.RecordBatchReader.from_stream(table.get_add_actions(flatten=True)).read_all()
    homes, rows = files["partition.partition"].to_pylist(), files["num_records"].to_pylist()
    return sum(count for home, count in zip(homes, rows, strict=True) if home == partition)


def _pieces(batches: Iterable[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The engine's small batches combined into larger ones, of Arrow's usual types."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        gathered.append(pa.record_batch(batch))
        size += gathered[-1].num_rows
        if size >= _BATCH_ROWS:
            yield from _together(gathered, schema)
            gathered, size = [], 0
    yield from _together(gathered, schema)


def _together(batches: list[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if batches:
        yield from pa.Table.from_batches(batches).cast(schema).combine_chunks().to_batches()


def read_rows(uri: str, delta_version: int, partition: int) -> pa.Table:
    """All rows of one partition, in the form that changes are merged with."""
    batches = list(read_batches(uri, delta_version, partition))
    if not batches:
        return CHANGES.empty_table()
    return pa.Table.from_batches(batches).select(CHANGES.names).cast(CHANGES)
