"""The records of one partition that a long task has read and not processed yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lastword.kafka.groups import Committed
from lastword.kafka.log.source import EndOfLog
from lastword.pipelines.run.spans import NO_SPANS, Span
from lastword.pipelines.task.task_input import PIECE_BYTES, RawRecords, TaskInput
from lastword.records import Batch, TopicPartition

PIECE_RECORDS = 250_000
"""How many records of a source are processed in one commit, at most. ``PIECE_BYTES`` limits the
size of their values, as in a micro-batch."""

MANY_RECORDS = 3_500
"""A poll with more records than this means that the task is behind the log."""


class LiveInput:
    """One partition number of every source, starting at the committed positions.

    It waits as Kafka Streams does with ``max.task.idle.ms=0``: while a source has no record here
    and is not known to be at its end, its next record may be the earliest, so nothing is
    processed.
    """

    def __init__(self, partition: int, starts: Mapping[str, int], *, headers: bool) -> None:
        self.partition = partition
        self.next_offsets = dict(starts)
        self._headers = headers
        self._records = {topic: RawRecords() for topic in starts}
        self._bytes = dict.fromkeys(starts, 0)
        self._at_end: set[str] = set()
        self._behind: set[str] = set()

    @property
    def is_ready(self) -> bool:
        """Whether records can be processed."""
        filled = {topic for topic, records in self._records.items() if records.offsets}
        return bool(filled) and filled | self._at_end == self._records.keys()

    @property
    def is_behind(self) -> bool:
        """Whether the log probably has many more records than were read."""
        return bool(self._behind)

    def count(self, topic: str) -> int:
        """The number of buffered records of a source."""
        return len(self._records[topic].offsets)

    def is_full(self, topic: str) -> bool:
        """Whether a source has as many records as one commit takes."""
        return self.count(topic) >= PIECE_RECORDS or self._bytes[topic] >= PIECE_BYTES

    @property
    def has_piece(self) -> bool:
        """Whether any source is full."""
        return any(map(self.is_full, self._records))

    def take(self, topic: str, batch: Batch) -> None:
        """Add the next records of a source."""
        records = self._records[topic]
        records.keys.extend(batch.keys)
        records.values.extend(batch.values)
        records.offsets.extend(batch.offsets.tolist())
        records.timestamps.extend(batch.timestamps.tolist())
        if self._headers:
            records.headers.extend(dict(each or ()) for each in batch.headers)
        self._bytes[topic] += _size(batch.values)
        self.next_offsets[topic] = batch.next_offset
        self._at_end.discard(topic)
        if len(batch) >= MANY_RECORDS:
            self._behind.add(topic)

    def reach_end(self, topic: str, end: EndOfLog) -> None:
        """Record that the log of a source has no further records."""
        self.next_offsets[topic] = max(self.next_offsets[topic], end.offset)
        self._at_end.add(topic)
        self._behind.discard(topic)

    def has_processed(self, until: Mapping[TopicPartition, int]) -> bool:
        """Whether all records before these offsets were read and processed."""
        return not any(map(self.count, self._records)) and all(
            offset >= until[TopicPartition(topic, self.partition)]
            for topic, offset in self.next_offsets.items()
        )

    def given(self) -> TaskInput:
        """The buffered records, in the form of a micro-batch's input."""
        filled = {topic: each for topic, each in self._records.items() if each.offsets}
        return TaskInput(self.partition, filled)

    def spans(self, committed: Mapping[TopicPartition, Committed]) -> Mapping[TopicPartition, Span]:
        """The spans that were read, if there are several sources; empty for a single one."""
        if len(self._records) == 1:
            return NO_SPANS
        spans: dict[TopicPartition, Span] = {}
        for topic, end in self.next_offsets.items():
            place = TopicPartition(topic, self.partition)
            start = committed[place].offset if place in committed else 0
            spans[place] = Span(start, max(start, end), more=topic not in self._at_end)
        return spans

    def drop_processed(self, committed: Mapping[TopicPartition, Committed]) -> None:
        """Drop the records before the committed positions."""
        for topic, records in self._records.items():
            at = committed.get(TopicPartition(topic, self.partition))
            if at is not None:
                left = self._records[topic] = records.since(at.offset)
                if left is not records:
                    self._bytes[topic] = _size(left.values)


def _size(values: Iterable[bytes | None]) -> int:
    return sum(map(len, filter(None, values)))
