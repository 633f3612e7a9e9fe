"""The task of an executor: turns the records of a partition into rows of its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from lastword.snapshots.catalog.decoded_columns import DecodedColumns


_LAST_DAY = date(9999, 12, 31)


@dataclass(frozen=True)
class HistoryTask:
    """Keeps every record unchanged, including tombstones and records of no table.

    ``partition`` is None for rows of a history, which have it: those are decoded again.
    """

    partition: int | None
    columns: DecodedColumns
    count: Callable[[int, int], None]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the columns that make records easy to find and to read."""
        for batch in batches:
            rows, unfit = self._row_batch(batch)
            self.count(batch.num_rows, unfit)
            yield rows

    def _row_batch(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
        import pyarrow as pa  # noqa: PLC0415 - on executors only

        from lastword.snapshots.catalog.layout import history_columns  # noqa: PLC0415

        more: dict[str, Any] = {"date": _day(batch.column("timestamp"))}
        if self.partition is not None:
            more["partition"] = pa.repeat(pa.scalar(self.partition, pa.int32()), batch.num_rows)
        return self.columns.rows(batch, history_columns(self.columns.types), **more)


def _day(timestamps: pa.Array) -> pa.Array:
    """The day in UTC. Timestamps in microseconds by mistake are all on the last possible day."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only
    import pyarrow.compute as pc  # noqa: PLC0415

    days = timestamps.cast(pa.date32(), safe=False)
    return pc.min_element_wise(days, pa.scalar(_LAST_DAY, pa.date32()))
