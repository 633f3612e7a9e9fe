"""What runs on an executor: one partition of a topic, from records to rows of its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from lastword.codecs.base import Codec

if TYPE_CHECKING:
    import pyarrow as pa


_LAST_DAY = date(9999, 12, 31)


@dataclass(frozen=True)
class HistoryTask:
    """Keeps every record unchanged, including tombstones and records of no table."""

    partition: int
    key: Codec[Any]
    value: Codec[Any]
    count: Callable[[int], None]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the columns that make records easy to find and to read."""
        for batch in batches:
            self.count(batch.num_rows)
            yield self._row_batch(batch)

    def _row_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa  # noqa: PLC0415 - on executors only

        from lastword.snapshots.catalog.decoding import decoded  # noqa: PLC0415
        from lastword.snapshots.catalog.layout import history_schema  # noqa: PLC0415

        columns: dict[str, Any] = {name: batch.column(name) for name in batch.schema.names}
        columns["decoded_key"] = decoded(batch.column("key"), self.key)
        columns["decoded_value"] = decoded(batch.column("value"), self.value)
        columns["partition"] = pa.repeat(pa.scalar(self.partition, pa.int32()), batch.num_rows)
        columns["date"] = _day(batch.column("timestamp"))
        schema = history_schema(self.key, self.value)
        arrays = [columns[field.name].cast(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _day(timestamps: pa.Array) -> pa.Array:
    """In UTC. Writers who take microseconds for milliseconds are all on the last day there is."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only
    import pyarrow.compute as pc  # noqa: PLC0415

    days = timestamps.cast(pa.date32(), safe=False)
    return pc.min_element_wise(days, pa.scalar(_LAST_DAY, pa.date32()))
