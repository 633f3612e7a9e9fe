"""Turns Arrow batches into events: splits them by topic and decodes them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from lastword.errors import RegistryError
from lastword.pipelines.api.folds import Field, pick
from lastword.pipelines.api.null_values import Values
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.operators.events import BadEvent, Events
from lastword.pipelines.operators.operator import BatchContext
from lastword.records import FENCE_KEY

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp_ms")
HEADERS = "headers"
PIECE_BYTES = 64 << 20
"""How many bytes of a partition are processed in one commit. As Python objects they take several
times as much memory, and every task of a machine holds one piece."""
LAST_MS = 253_402_300_799_999
"""The end of the year 9999. A single later record would close every window for good."""


@dataclass(slots=True)
class RawRecords:
    """The records of one topic as in the log, in offset order."""

    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[dict[str, bytes | None]] = field(default_factory=list)

    def count_below(self, offset: int) -> int:
        """How many records are before ``offset``."""
        return bisect_left(self.offsets, offset)

    def since(self, offset: int) -> RawRecords:
        """The records from ``offset`` on."""
        skip = self.count_below(offset)
        if not skip:
            return self
        return RawRecords(
            self.keys[skip:],
            self.values[skip:],
            self.offsets[skip:],
            self.timestamps[skip:],
            self.headers[skip:],
        )

    def without_fences(self) -> RawRecords:
        """The records without fence records."""
        if FENCE_KEY not in self.keys:
            return self
        users = [key != FENCE_KEY for key in self.keys]
        return RawRecords(
            list(compress(self.keys, users)),
            list(compress(self.values, users)),
            list(compress(self.offsets, users)),
            list(compress(self.timestamps, users)),
            list(compress(self.headers, users)),
        )

    def with_ids(self, header: str | None) -> RawRecords:
        """The records with the values of ``header`` before their own: the ids of their schemas."""
        if header is None or not any(header in each for each in self.headers):
            return self
        values = [
            value if value is None else (headers.get(header) or b"") + value
            for value, headers in zip(self.values, self.headers, strict=True)
        ]
        return replace(self, values=values)

    def value_at(self, offset: int) -> bytes | None:
        """The raw value of the record at ``offset``."""
        return self.values[bisect_left(self.offsets, offset)]


@dataclass(frozen=True, slots=True)
class TaskInput:
    """The input of a task: one partition number of one or several topics."""

    partition: int
    topics: Mapping[str, RawRecords]


def read_inputs(
    batches: Iterable[pa.RecordBatch],
    only_source: str | None = None,
    *,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[TaskInput]:
    """Split a task's batches into pieces of about ``piece_bytes``, whatever the size of a batch.

    Records of ``only_source`` need not name it. Records of several sources stay in one piece,
    because they are sorted by time before processing.
    """
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(batch)
            size += batch.nbytes
        if only_source and size >= piece_bytes:
            yield _read(gathered, only_source)
            gathered, size = [], 0
    if gathered:
        yield _read(gathered, only_source)


def _read(batches: list[pa.RecordBatch], only_source: str | None) -> TaskInput:
    import pyarrow as pa  # noqa: PLC0415 - on executors only
    import pyarrow.compute as pc  # noqa: PLC0415

    records = pa.Table.from_batches(batches)
    partitions = records["partition"].unique().to_pylist()
    if len(partitions) != 1:
        raise RuntimeError(f"a task received several partitions: {sorted(partitions)}")
    topics = [only_source] if only_source else records["topic"].unique().to_pylist()
    if len(topics) == 1:
        return TaskInput(partitions[0], {topics[0]: _raw(records)})
    parts = {topic: records.filter(pc.equal(records["topic"], topic)) for topic in topics}
    return TaskInput(partitions[0], {topic: _raw(part) for topic, part in parts.items()})


def _raw(records: pa.Table) -> RawRecords:
    headers = records[HEADERS].to_pylist() if HEADERS in records.column_names else ()
    return RawRecords(
        records["key"].to_pylist(),
        records["value"].to_pylist(),
        records["offset"].to_pylist(),
        records["timestamp_ms"].to_pylist(),
        [{each["key"]: each["value"] for each in pairs} if pairs else {} for pairs in headers],
    )


def decode(
    source: SourcePlan,
    records: RawRecords,
    floor: int,
    context: BatchContext,
    fields: tuple[str, ...] | None = None,
) -> Events:
    """The records from ``floor`` on with their values decoded; bad ones are quarantined.

    ``fields`` are the members of objects that are read; None: any may be. Fence records, which are
    not rows of a table, are skipped.
    """
    coder = Values(source.value, source.topic)
    raw = records.since(floor).without_fences().with_ids(coder.id_header)
    try:
        values = coder.decode_batch(raw.values, fields)
        timestamps = _event_times(source.timestamp, values, raw.timestamps)
    except Exception:  # noqa: BLE001 - the user's codec and timestamp function: find out which
        return _decode_one_by_one(source, raw, context)
    topics = [source.topic] * len(values)
    return Events(topics, raw.keys, values, timestamps, raw.offsets, raw.headers)


def _decode_one_by_one(source: SourcePlan, raw: RawRecords, context: BatchContext) -> Events:
    read = Values(source.value, source.topic).decode
    keep: list[int] = []
    values: list[Any] = []
    timestamps: list[int] = []
    for i, value in enumerate(raw.values):
        try:
            decoded = None if value is None else read(value)
            timestamps.append(event_time(source.timestamp, decoded, raw.timestamps[i]))
        except RegistryError:
            raise  # the record may be good: the task is tried again
        except Exception as error:  # noqa: BLE001 - the user's codec and timestamp function
            reason = f"{type(error).__name__}: {error}"
            context.bad.append(BadEvent(source.topic, raw.offsets[i], raw.keys[i], reason))
            context.tally.quarantined += 1
        else:
            keep.append(i)
            values.append(decoded)
    return Events(
        [source.topic] * len(keep),
        [raw.keys[i] for i in keep],
        values,
        timestamps,
        [raw.offsets[i] for i in keep],
        [raw.headers[i] for i in keep] if raw.headers else (),
    )


def _event_times(field: Field | None, values: list[Any], records_ms: list[int]) -> list[int]:
    if field is None and min(records_ms, default=0) >= 0 and max(records_ms, default=0) <= LAST_MS:
        return records_ms
    return [event_time(field, *each) for each in zip(values, records_ms, strict=True)]


def event_time(field: Field | None, value: Any, record_ms: int) -> int:
    """The event time: from the user's field, else the record's timestamp, as for a tombstone.

    Raises ValueError for an invalid time, which would close windows or fall into none.
    """
    time_ms = record_ms if field is None or value is None else pick(field, value)
    if not isinstance(time_ms, int) or isinstance(time_ms, bool) or not 0 <= time_ms <= LAST_MS:
        raise ValueError(f"{time_ms!r} is not an event time in milliseconds since 1970")
    return time_ms
