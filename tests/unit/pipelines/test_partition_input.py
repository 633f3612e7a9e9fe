"""Streams that Spark makes of sources go by the time of the records they come of."""

from __future__ import annotations

from dataclasses import replace

from lastword.kafka.groups import Committed
from lastword.pipelines.graph.node import SourceNode, SourcePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.operators.events import Events
from lastword.pipelines.run.spans import Span
from lastword.pipelines.task.partition_input import PartitionInput
from lastword.pipelines.task.task_input import RawRecords, TaskInput
from lastword.records import TopicPartition
from tests.support.on_spark.split_input import plan_of


def records(*rows: tuple[int, int]) -> RawRecords:
    """Offset and time of each record; its value is its time."""
    return RawRecords(
        [b"k"] * len(rows),
        [b'{"at": %d}' % time for _, time in rows],
        [offset for offset, _ in rows],
        [time for _, time in rows],
    )


def transformed(*roots: str, read: frozenset[str]) -> TaskPlan:
    """A plan that reads ``root/made`` in place of each of these sources, or beside it."""
    plan = plan_of(["a", "b"])
    made = {f"{root}/made": SourcePlan(f"{root}/made", "json", None, root) for root in roots}
    nodes = [SourceNode(f"source {topic}", (), "source", topic) for topic in sorted(read)]
    return replace(plan, transforms=made, nodes=tuple(nodes))


def merged(taken: PartitionInput, *topics: str) -> Events:
    parts = [taken.events(topic) for topic in sorted(topics)]
    return taken.merged([part for part in parts if part is not None])


def test_a_transformed_record_waits_with_its_source_record() -> None:
    plan = transformed("a", read=frozenset({"a/made", "b"}))
    made = records((0, 1), (1, 1), (1, 1))  # other times than those of the records
    given = TaskInput(
        0, {"a": records((0, 10), (1, 30)), "a/made": made, "b": records((0, 20), (1, 25))}
    )
    spans = {
        TopicPartition("a", 0): Span(0, 2, more=False),
        TopicPartition("b", 0): Span(0, 2, more=True),
    }
    taken = PartitionInput(plan, given, {}, spans)
    events = merged(taken, "a/made", "b")
    assert list(zip(events.topics, events.offsets, strict=True)) == [
        ("a/made", 0),
        ("b", 0),
        ("b", 1),
    ]
    assert taken.positions == {"a": 1, "b": 2}
    assert taken.records == 3


def test_a_source_and_its_derived_stream_are_processed_record_by_record() -> None:
    plan = transformed("a", read=frozenset({"a", "a/made"}))
    plan = replace(plan, sources={"a": plan.sources["a"]})
    made = records((0, 99), (1, 1))
    given = TaskInput(0, {"a": records((0, 10), (1, 30)), "a/made": made})
    events = merged(PartitionInput(plan, given, {}, {}), "a", "a/made")
    assert list(zip(events.topics, events.offsets, strict=True)) == [
        ("a", 0),
        ("a/made", 0),
        ("a", 1),
        ("a/made", 1),
    ]


def test_values_that_only_spark_can_read_are_ordered_by_the_times_of_their_records() -> None:
    plan = transformed("a", "b", read=frozenset({"a/made", "b/made"}))
    raw = {"a": records((0, 20)), "b": records((0, 10))}
    for each in raw.values():
        each.values = [b"no JSON"]
    made = {"a/made": records((0, 1)), "b/made": records((0, 1))}
    taken = PartitionInput(plan, TaskInput(0, raw | made), {}, {})
    events = merged(taken, "a/made", "b/made")
    assert events.topics == ["b/made", "a/made"]
    assert taken.bad == []


def test_a_repeated_attempt_takes_nothing_that_is_not_known_to_be_next() -> None:
    plan = plan_of(["a", "b"])
    given = TaskInput(0, {"a": records((0, 10), (1, 50)), "b": records((0, 20))})
    spans = {
        TopicPartition("a", 0): Span(0, 2, more=False),
        TopicPartition("b", 0): Span(0, 1, more=True),
    }
    first = PartitionInput(plan, given, {}, spans)
    assert first.positions == {"a": 1, "b": 1}
    committed = {
        TopicPartition(topic, 0): Committed(at, "") for topic, at in first.positions.items()
    }
    again = PartitionInput(plan, given, committed, spans)
    assert not again.moves
    assert (again.records, again.skipped) == (0, 2)
