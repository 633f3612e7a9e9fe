"""Rows of a snapshot as Arrow, one partition of the topic at a time, in key order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lastword.errors import SnapshotError
from lastword.snapshots.catalog import delta_errors
from lastword.snapshots.layout import RAW_COLUMNS
from lastword.snapshots.merge import CHANGES

_BATCH_ROWS = 64 << 10


def read_batches(
    uri: str, version: int, partition: int, columns: Sequence[str] = RAW_COLUMNS
) -> Iterator[pa.RecordBatch]:
    """The rows of one partition, decoded ahead by Arrow's threads; raises SnapshotError."""
    with delta_errors(uri):
        table = DeltaTable(uri, version=version)
        wanted = pc.field("partition") == partition
        expected = pc.sum(
            pa.table(table.get_add_actions(flatten=True)).filter(
                pc.field("partition.partition") == partition
            )["num_records"]
        ).as_py()
        dataset = table.to_pyarrow_dataset(as_large_types=True)
        seen = 0
        for batch in dataset.to_batches(list(columns), filter=wanted, batch_size=_BATCH_ROWS):
            seen += batch.num_rows
            yield batch
    if seen != (expected or 0):
        raise SnapshotError(
            f"{uri}, version {version}, partition {partition}: {seen} rows instead of {expected}",
            hint="files of this version are missing",
        )


def read_rows(uri: str, version: int, partition: int) -> pa.Table:
    """All rows of one partition, in the form that changes are merged with."""
    batches = list(read_batches(uri, version, partition))
    if not batches:
        return CHANGES.empty_table()
    return pa.Table.from_batches(batches).select(CHANGES.names).cast(CHANGES)
