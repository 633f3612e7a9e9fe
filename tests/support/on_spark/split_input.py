"""The records of one partition of several sources, handed to tasks in any portions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.pipelines.graph.node import SourceNode, SourcePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.operators.events import BadEvent, Events
from lastword.pipelines.run.spans import Span
from lastword.pipelines.task.partition_input import PartitionInput
from lastword.pipelines.task.task_input import RawRecords, TaskInput
from lastword.records import TopicPartition

Logged = tuple[int, int, bytes, bytes]
"""Offset, time, key, value."""

Logs = Mapping[str, Sequence[Logged]]
NextSpans = Callable[
    [Mapping[TopicPartition, Committed], Mapping[TopicPartition, int]],
    Mapping[TopicPartition, Span],
]


def greedy(logs: Logs) -> list[tuple[str, int]]:
    """Kafka Streams' choice: of all heads the one with the smallest time, by topic and offset."""
    left = {topic: list(records) for topic, records in logs.items()}
    chosen: list[tuple[str, int]] = []
    while heads := [(records[0][1], topic) for topic, records in left.items() if records]:
        _, topic = min(heads)
        chosen.append((topic, left[topic].pop(0)[0]))
    return chosen


def plan_of(topics: Sequence[str]) -> TaskPlan:
    return TaskPlan(
        application_id="app",
        connection=Connection(bootstrap_servers="unused:9092"),
        partitions=1,
        sources={topic: SourcePlan(topic, "json") for topic in topics},
        nodes=tuple(SourceNode(f"source {topic}", (), "source", topic) for topic in topics),
        quarantine_topic="unused",
        state_dir=Path("unused"),
    )


@dataclass
class SplitInput:
    """Plays the driver: each step reads the given spans and moves the committed positions."""

    logs: Logs
    ends: Mapping[str, int]
    committed: dict[TopicPartition, Committed] = field(default_factory=dict)
    bad: list[BadEvent] = field(default_factory=list)
    records: int = 0

    def batches(self, next_spans: NextSpans, pass_over: Callable[..., None]) -> Iterator[Events]:
        """What each task processes, until all sources are at their ends."""
        plan = plan_of(list(self.logs))
        ends = {TopicPartition(topic, 0): end for topic, end in self.ends.items()}
        while spans := next_spans(self.committed, ends):
            given = {place.topic: self._between(place.topic, span) for place, span in spans.items()}
            given = {topic: records for topic, records in given.items() if records.offsets}
            if not given:
                pass_over(spans, {0})
                continue
            taken = PartitionInput(plan, TaskInput(0, given), self.committed, spans)
            assert taken.moves, f"{spans} of {self.logs} moves nothing"
            self.bad += taken.bad
            self.records += taken.records
            parts = [taken.events(topic) for topic in sorted(self.logs)]
            filled = [part for part in parts if part is not None and len(part)]
            if filled:
                yield taken.merged(filled)
            for topic, offset in taken.positions.items():
                self.committed[TopicPartition(topic, 0)] = Committed(offset, "")

    def _between(self, topic: str, span: Span) -> RawRecords:
        chosen = [each for each in self.logs[topic] if span.start <= each[0] < span.end]
        return RawRecords(
            [key for *_, key, _ in chosen],
            [value for *_, value in chosen],
            [offset for offset, *_ in chosen],
            [time for _, time, *_ in chosen],
        )
