"""A task's report to the driver on each transaction: counts, and the sizes of its stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.pipelines.operators.events import Tally

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class StoreSize(msgspec.Struct, frozen=True):
    """The size of one partition of a store."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: StoreSize) -> StoreSize:
        return StoreSize(self.rows + other.rows, self.bytes + other.bytes)


@dataclass(frozen=True)
class TaskReport:
    """The counts of one transaction, and the sizes of the stores it used, by name.

    ``by_store`` has the counts of ``tally`` that belong to a store.
    """

    partition: int
    tally: Tally
    stores: Mapping[str, StoreSize] = field(default_factory=dict)
    by_store: Mapping[str, Tally] = field(default_factory=dict)


_COUNTS = tuple(asdict(Tally()))
_SIZES = msgspec.json.Decoder(dict[str, StoreSize])
_TALLIES = msgspec.json.Decoder(dict[str, Tally])
_COLUMNS = {"task": "long", "stores": "binary", "by_store": "binary"}


@cache
def report_type() -> StructType:
    """The columns of a report. Spark parses their description only once."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - on the driver only

    columns = dict.fromkeys(_COUNTS, "long") | _COLUMNS
    return StructType.fromDDL(", ".join(f"{name} {kind}" for name, kind in columns.items()))


def to_arrow(report: TaskReport) -> pa.RecordBatch:
    """The report as one Arrow row."""
    import pyarrow as pa  # noqa: PLC0415 - on executors only

    columns = [pa.array([number], pa.int64()) for number in asdict(report.tally).values()]
    columns += [
        pa.array([report.partition], pa.int64()),
        pa.array([msgspec.json.encode(report.stores)], pa.binary()),
        pa.array([msgspec.json.encode(report.by_store)], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[*_COUNTS, *_COLUMNS])


def from_row(row: Mapping[str, Any]) -> TaskReport:
    """The report of a row."""
    tally = Tally(**{name: row[name] for name in _COUNTS})
    return TaskReport(
        row["task"],
        tally,
        _SIZES.decode(bytes(row["stores"])),
        _TALLIES.decode(bytes(row["by_store"])),
    )
