"""The input of a task: decoded records, as far as their order is known."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lastword.kafka.groups import Committed
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.operators.events import BadEvent, Events
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.run.spans import Span
from lastword.pipelines.task.task_input import RawRecords, TaskInput, decode
from lastword.pipelines.task.time_order import NO_TIME, Timeline, TimeOrder
from lastword.records import TopicPartition


class PartitionInput:
    """The records after the committed positions, up to where others may still come in between.

    ``positions`` is the position of each source after these records. ``records`` is their number,
    ``skipped`` the number of records that were already committed. Records that have to wait are not
    counted: the next batch has them again.
    """

    def __init__(
        self,
        plan: TaskPlan,
        given: TaskInput,
        committed: Mapping[TopicPartition, Committed],
        spans: Mapping[TopicPartition, Span],
    ) -> None:
        self.records = 0
        self.skipped = 0
        self.bad: list[BadEvent] = []
        self.positions: dict[str, int] = {}
        self._plan = plan
        self._given = given
        self._floors = {
            place.topic: at.offset
            for place, at in committed.items()
            if place.partition == given.partition
        }
        self._spans = {
            topic: self._span(topic, spans.get(TopicPartition(topic, given.partition)))
            for topic in plan.sources
        }
        context = BatchContext()
        read = plan.decoded
        decoded = {
            topic: decode(
                plan.reads(topic), records, self._floor(topic), context, plan.fields_of(topic)
            )
            for topic, records in given.topics.items()
            if topic in read
        }
        self._order = TimeOrder(self._timelines(decoded), self._spans, plan.root_of)
        self._count()
        self._events = {topic: self._known(topic, events) for topic, events in decoded.items()}
        self.bad = [each for each in context.bad if each.offset < self._upto(each.topic)]

    @property
    def moves(self) -> bool:
        """Whether the position of any source advances."""
        return any(at > self._floors.get(topic, 0) for topic, at in self.positions.items())

    def events(self, topic: str) -> Events | None:
        """The events of a topic in log order; None if the batch has no record of it."""
        return self._events.get(topic)

    def merged(self, parts: Sequence[Events]) -> Events:
        """The events of several nodes as one stream, in processing order."""
        return self._order.merged(parts)

    def _span(self, topic: str, span: Span | None) -> Span:
        """The span that was read of a source; a single source is read to its end."""
        if span is not None:
            return span
        floor = self._floor(topic)
        offsets = self._given.topics[topic].offsets if topic in self._given.topics else []
        return Span(floor, offsets[-1] + 1 if offsets else floor, more=False)

    def _timelines(self, decoded: Mapping[str, Events]) -> dict[str, Timeline]:
        lines: dict[str, Timeline] = {}
        for topic in self._plan.sources:
            raw = self._given.topics.get(topic, RawRecords()).since(self._floor(topic))
            if len(self._plan.sources) == 1:
                lines[topic] = Timeline.of(raw.offsets, [0] * len(raw.offsets))
            else:
                events = decoded[topic] if topic in decoded else self._timed(topic)
                lines[topic] = _timeline(raw, events)
        return lines

    def _timed(self, topic: str) -> Events:
        """The records of a source that only a transform reads, for their times.

        Their values are decoded only if they contain the times.
        """
        source = self._plan.sources[topic]
        if source.timestamp is None:
            source = replace(source, value="bytes")
        records = self._given.topics.get(topic, RawRecords())
        return decode(source, records, self._floor(topic), BatchContext())

    def _count(self) -> None:
        for topic in self._plan.sources:
            floor, upto = self._floor(topic), self._upto(topic)
            records = self._given.topics.get(topic, RawRecords())
            skipped = records.count_below(floor)
            self.skipped += skipped
            self.records += records.count_below(max(upto, floor)) - skipped
            # A batch that was read earlier may end below the committed position.
            if upto > floor:
                self.positions[topic] = upto

    def _known(self, topic: str, events: Events) -> Events:
        known = bisect_left(events.offsets, self._upto(topic))
        return events if known == len(events) else events.take(range(known))

    def _floor(self, topic: str) -> int:
        return self._floors.get(self._plan.root_of(topic), 0)

    def _upto(self, topic: str) -> int:
        return self._order.upto(self._plan.root_of(topic))


def _timeline(raw: RawRecords, events: Events) -> Timeline:
    """Includes records that could not be decoded: a transform may have used them."""
    if len(events) == len(raw.offsets):
        return Timeline.of(raw.offsets, events.timestamps)
    times = dict(zip(events.offsets, events.timestamps, strict=True))
    return Timeline.of(raw.offsets, [times.get(offset, NO_TIME) for offset in raw.offsets])
