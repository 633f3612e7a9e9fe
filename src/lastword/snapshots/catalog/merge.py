"""The last record of each key, column by column: the rows of a snapshot.

Measured: grouping in Arrow is 1.6 times as fast as Spark's ``max_by`` and needs no shuffle.
Keys and values are large binaries, because a partition may have more than two gigabytes. An
executor holds a whole partition, so rows are copied batch by batch wherever possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
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
_ROWS_PER_BATCH = 20_000


class LatestPerKey:
    """Takes a partition's records in order and keeps the last one of each key, tombstones too."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._reduce_at = _REDUCED_FROM_ROWS
        self.records = 0
        self.bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next records."""
        rows = batch.select(CHANGES.names).cast(CHANGES)
        self.records += rows.num_rows
        self.bytes += _content_bytes(rows.column("key")) + _content_bytes(rows.column("value"))
        self._batches.append(rows)
        self._rows += rows.num_rows
        if self._rows >= self._reduce_at:
            self._reduce()
            self._reduce_at = max(_REDUCED_FROM_ROWS, 2 * self._rows)

    def changes(self, partition: int, keyspace: Keyspace) -> pa.Table:
        """The last record of each key that belongs to the table; ends the use of this object."""
        self._reduce()
        for index, batch in enumerate(self._batches):
            self._batches[index] = _rows_of_table(batch, partition, keyspace)
        batches, self._batches = self._batches, []
        return pa.Table.from_batches(batches, CHANGES)

    def _reduce(self) -> None:
        keys = pa.chunked_array([batch.column("key") for batch in self._batches], pa.large_binary())
        indexed = pa.table({"key": keys, "row": np.arange(self._rows)})
        last = indexed.group_by("key", use_threads=False).aggregate([("row", "max")])
        is_last = np.zeros(self._rows, bool)
        is_last[last["row_max"].to_numpy()] = True
        begin = 0
        for index, batch in enumerate(self._batches):
            kept = is_last[begin : begin + batch.num_rows]
            begin += batch.num_rows
            if not kept.all():
                self._batches[index] = batch.filter(pa.array(kept))
        self._rows = last.num_rows


def merged(base: pa.Table | None, changes: pa.Table, *, first_offset: int = 0) -> pa.Table:
    """The live rows, in no order: those of ``base`` that did not change, and the changed ones.

    Rows before ``first_offset`` have left a log that also deletes by age.
    """
    deletes = changes["value"].null_count
    live = changes.filter(pc.is_valid(changes["value"])) if deletes else changes
    if base is not None:
        keys = changes["key"].combine_chunks()
        untouched = pc.invert(pc.is_in(base["key"], value_set=keys))
        live = pa.concat_tables([base.filter(untouched), live])
    if first_offset:
        live = live.filter(pc.greater_equal(live["offset"], first_offset))
    return live


def in_key_order(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows in key order, in batches. The caller should keep no other reference to ``rows``."""
    order = pc.sort_indices(rows, [("key", "ascending")])
    rows = rows.combine_chunks()
    for begin in range(0, len(order), _ROWS_PER_BATCH):
        yield from rows.take(order.slice(begin, _ROWS_PER_BATCH)).to_batches()


def _rows_of_table(batch: pa.RecordBatch, partition: int, keyspace: Keyspace) -> pa.RecordBatch:
    """The records with a key that belongs to the partition."""
    keys = batch.column("key")
    keyed = pc.greater(pc.binary_length(keys), 0)
    kept = batch.filter(pc.and_(keyed, pc.not_equal(keys, FENCE_KEY)))
    strays = keyspace.misplaced(kept.column("key").to_pylist(), partition)
    if not len(strays):
        return kept
    belongs = np.ones(kept.num_rows, bool)
    belongs[strays] = False
    return kept.filter(pa.array(belongs))


def _content_bytes(column: Any) -> int:
    return int(pc.sum(pc.binary_length(column)).as_py() or 0)
