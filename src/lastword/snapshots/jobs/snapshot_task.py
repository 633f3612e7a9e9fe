"""The task of an executor: turns the records of a partition into rows of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.keyspace import Keyspace

if TYPE_CHECKING:
    import pyarrow as pa

    from lastword.snapshots.catalog.decoded_columns import DecodedColumns
    from lastword.snapshots.catalog.merge import LatestPerKey


@dataclass(frozen=True)
class SnapshotTask:
    """One partition's part of a snapshot; ``base_delta_version`` is the Delta version it builds on.

    A task gets its partition as an argument: without any record it must still know which rows to
    write.
    """

    uri: str
    base_delta_version: int | None
    partition: int
    keyspace: Keyspace
    first_offset: int
    columns: DecodedColumns
    count: Callable[[int, int, int], None]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keep the last record of each key, merge them into the base, and hand the rows back."""
        from lastword.snapshots.catalog.merge import LatestPerKey, in_key_order  # noqa: PLC0415 - on executors only

        latest = LatestPerKey()
        for batch in batches:
            latest.add(batch)
        unfit = 0
        for batch in in_key_order(self._merged(latest)):
            finished, more = self._finished(batch)
            unfit += more
            yield finished
        self.count(latest.records, latest.bytes, unfit)

    def _merged(self, latest: LatestPerKey) -> pa.Table:
        from lastword.snapshots.catalog.merge import merged  # noqa: PLC0415 - on executors only
        from lastword.snapshots.travel.delta_reads import read_rows  # noqa: PLC0415

        base = None
        if self.base_delta_version is not None:
            base = read_rows(self.uri, self.base_delta_version, self.partition)
        changes = latest.changes(self.partition, self.keyspace)
        return merged(base, changes, first_offset=self.first_offset)

    def _finished(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
        """The rows with all columns, and how many keys and values do not fit their schema."""
        import pyarrow as pa  # noqa: PLC0415 - on executors only

        from lastword.snapshots.catalog.layout import snapshot_columns  # noqa: PLC0415

        here = pa.repeat(pa.scalar(self.partition, pa.int32()), batch.num_rows)
        return self.columns.rows(batch, snapshot_columns(self.columns.types), partition=here)
