"""What runs on an executor: one partition of a topic, from records to rows of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lastword.codecs.base import Codec
from lastword.keyspace import Keyspace

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_PER_BATCH = 20_000


@dataclass(frozen=True)
class SnapshotTask:
    """One partition's part of a snapshot; ``base_delta_version`` is the Delta version it builds on.

    A task is given its partition: it may get no record at all, and must know even then whose
    rows it stands for.
    """

    uri: str
    base_delta_version: int | None
    partition: int
    keyspace: Keyspace
    first_offset: int
    key: Codec[Any]
    value: Codec[Any]
    count: Callable[[int, int], None]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keep the last record of each key, merge them into the base, and hand the rows back."""
        from lastword.snapshots.catalog.merge import LatestPerKey, merged  # noqa: PLC0415 - on executors only
        from lastword.snapshots.travel.delta_reads import read_rows  # noqa: PLC0415

        latest = LatestPerKey()
        for batch in batches:
            latest.add(batch)
        self.count(latest.records, latest.bytes)
        changes = latest.changes(self.partition, self.keyspace)
        base = None
        if self.base_delta_version is not None:
            base = read_rows(self.uri, self.base_delta_version, self.partition)
        rows = merged(base, changes, first_offset=self.first_offset)
        for batch in rows.to_batches(max_chunksize=_ROWS_PER_BATCH):
            yield self._finished(batch)

    def _finished(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa  # noqa: PLC0415 - on executors only

        from lastword.snapshots.catalog.decoding import decoded  # noqa: PLC0415
        from lastword.snapshots.catalog.layout import snapshot_schema  # noqa: PLC0415

        columns: dict[str, Any] = {name: batch.column(name) for name in batch.schema.names}
        columns["decoded_key"] = decoded(batch.column("key"), self.key)
        columns["decoded_value"] = decoded(batch.column("value"), self.value)
        columns["partition"] = pa.repeat(pa.scalar(self.partition, pa.int32()), batch.num_rows)
        schema = snapshot_schema(self.key, self.value)
        arrays = [columns[field.name].cast(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
