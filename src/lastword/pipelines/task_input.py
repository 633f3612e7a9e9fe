"""From Arrow batches to events: split by topic, decoded, merged again in time order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING, Any

from lastword.codecs.resolve import codec
from lastword.errors import DecodeError
from lastword.pipelines.events import BadEvent, Events
from lastword.pipelines.operator import Turn
from lastword.pipelines.plan import SourcePlan
from lastword.records import Headers

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp_ms", "headers")


@dataclass(slots=True)
class RawRecords:
    """The records of one topic as they are in the log, in offset order."""

    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[Headers | None] = field(default_factory=list)

    def value_at(self, offset: int) -> bytes | None:
        """The raw value of the record at ``offset``."""
        return self.values[self.offsets.index(offset)]


@dataclass(frozen=True, slots=True)
class TaskInput:
    """What a task was given: one partition number, of one or several topics."""

    partition: int
    topics: Mapping[str, RawRecords]


def read_input(batches: Iterable[pa.RecordBatch]) -> TaskInput | None:
    """Gather a task's batches; None when there is nothing in them."""
    partitions: set[int] = set()
    topics: dict[str, RawRecords] = {}
    for batch in batches:
        if not batch.num_rows:
            continue
        columns = {name: batch.column(name) for name in COLUMNS}
        partitions.update(columns["partition"].unique().to_pylist())
        names = columns["topic"].unique().to_pylist()
        for name in names:
            rows = columns if len(names) == 1 else _only(columns, name)
            _extend(topics.setdefault(name, RawRecords()), rows)
    if not topics:
        return None
    if len(partitions) != 1:
        raise RuntimeError(f"one task was given the partitions {sorted(partitions)}")
    return TaskInput(partitions.pop(), topics)


def _only(columns: Mapping[str, Any], topic: str) -> dict[str, Any]:
    import pyarrow.compute as pc  # noqa: PLC0415 - on executors only

    wanted = pc.equal(columns["topic"], topic)
    return {name: column.filter(wanted) for name, column in columns.items()}


def _extend(records: RawRecords, columns: Mapping[str, Any]) -> None:
    records.keys += columns["key"].to_pylist()
    records.values += columns["value"].to_pylist()
    records.offsets += columns["offset"].to_pylist()
    records.timestamps += columns["timestamp_ms"].to_pylist()
    records.headers += [
        tuple((each["key"], each["value"]) for each in found) if found else None
        for found in columns["headers"].to_pylist()
    ]


def decode(source: SourcePlan, records: RawRecords, floor: int, turn: Turn) -> Events:
    """The records from ``floor`` on with their values decoded; bad ones are quarantined."""
    skip = sum(1 for offset in records.offsets if offset < floor)
    turn.tally.skipped += skip
    turn.tally.records += len(records.offsets) - skip
    read = codec(source.value).decode
    keep: list[int] = []
    values: list[Any] = []
    times = records.timestamps
    for i in range(skip, len(records.offsets)):
        raw = records.values[i]
        try:
            value = None if raw is None else read(raw)
            if source.timestamp is not None and value is not None:
                times[i] = source.timestamp(value)
        except DecodeError as error:
            _quarantine(source.topic, records, i, str(error), turn)
        except Exception as error:  # noqa: BLE001 - the user's timestamp function
            _quarantine(source.topic, records, i, f"{type(error).__name__}: {error}", turn)
        else:
            keep.append(i)
            values.append(value)
    return Events(
        [source.topic] * len(keep),
        [records.keys[i] for i in keep],
        values,
        [times[i] for i in keep],
        [records.offsets[i] for i in keep],
        [records.headers[i] for i in keep],
    )


def _quarantine(topic: str, records: RawRecords, i: int, reason: str, turn: Turn) -> None:
    turn.bad.append(BadEvent(topic, records.offsets[i], records.keys[i], reason))
    turn.tally.quarantined += 1


def merged(parts: list[Events]) -> Events:
    """Several topics as one stream: always the earlier of the heads, each topic in its order."""
    if len(parts) == 1:
        return parts[0]
    rows = list(merge(*(_rows(part) for part in parts), key=lambda row: row[0]))
    return Events(
        [part.topics[i] for _, part, i in rows],
        [part.keys[i] for _, part, i in rows],
        [part.values[i] for _, part, i in rows],
        [part.timestamps[i] for _, part, i in rows],
        [part.offsets[i] for _, part, i in rows],
        [part.headers[i] for _, part, i in rows],
    )


def _rows(part: Events) -> Iterator[tuple[int, Events, int]]:
    """Rows with a time that never goes back: a late record does not overtake its predecessor."""
    high_ms = -1
    for i, timestamp_ms in enumerate(part.timestamps):
        high_ms = max(high_ms, timestamp_ms)
        yield high_ms, part, i
