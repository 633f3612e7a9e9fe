"""Events on their way through the nodes of a graph, without Kafka and Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lastword.kafka.write.transaction_writer import Output
from lastword.pipelines import Pipeline
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.topology import OwnTopic
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView
from lastword.records import TopicPartition
from tests.support.on_spark.offline_pipeline import OfflinePipeline


def pipeline() -> Pipeline:
    return Pipeline("app", bootstrap_servers="none:1")


def records(*pairs: tuple[int, Any]) -> list[Output]:
    """Time and value of each, all of one key."""
    return [(b"k", json.dumps(value).encode(), at_ms, ()) for at_ms, value in pairs]


def values_of(run: OfflinePipeline, topic: str) -> list[Any]:
    return [json.loads(value or b"null") for _, value, *_ in run.topic(topic)]


def test_streams_that_were_changed_are_merged_by_time() -> None:
    app = pipeline()
    doubled = app.stream("a").map_values(lambda value: value * 2)
    kept = app.stream("b").filter(lambda key, value: value != 3)
    doubled.merge(kept).to_table("out")
    run = OfflinePipeline(app)
    run.run({"a": records((1, 10), (5, 20)), "b": records((2, 3), (3, 4), (6, 5))})
    assert values_of(run, "out") == [20, 4, 40, 5]


def test_a_record_that_comes_by_two_ways_comes_twice_in_the_order_of_their_declaration() -> None:
    app = pipeline()
    source = app.stream("a")
    first = source.map_values(lambda value: [value, "first"])
    second = source.map_values(lambda value: [value, "second"])
    second.merge(first).to_table("out")
    run = OfflinePipeline(app)
    run.run({"a": records((1, 1), (2, 2))})
    assert values_of(run, "out") == [[1, "first"], [1, "second"], [2, "first"], [2, "second"]]


def test_a_merge_of_merged_streams_keeps_the_order_of_time() -> None:
    app = pipeline()
    both = app.stream("a").merge(app.stream("b")).map_values(lambda value: value)
    both.merge(app.stream("c").map_values(lambda value: value)).to_table("out")
    run = OfflinePipeline(app)
    run.run({"a": records((1, 1), (4, 4)), "b": records((3, 3)), "c": records((2, 2), (5, 5))})
    assert values_of(run, "out") == [1, 2, 3, 4, 5]


def test_a_source_without_records_in_a_batch_leaves_its_stores_alone() -> None:
    app = pipeline()
    app.stream("a").group_by_key().count("of-a")
    app.stream("b").group_by_key().count("of-b")
    app.stream("a", "b").group_by_key().count("of-both")
    run = OfflinePipeline(app)
    run.run({"a": records((7, 1)), "b": []})
    times = json.loads(run.committed[TopicPartition("a", 0)].metadata)["stream_times"]
    assert times == {"of-a": 7, "of-both": 7}


class Pairs(Operator):
    """Emits each event of the second input with the last one of the first, as a join would."""

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        (state,) = states
        kept: list[int] = []
        values: list[Any] = []
        for i, value in enumerate(events.values):
            if events.inputs[i] == 0:
                state.put(b"left", json.dumps(value).encode(), events.timestamps[i])
            else:
                (left,) = state.get_many([b"left"])
                kept.append(i)
                values.append(json.dumps([json.loads(left or b"null"), value]).encode())
        return replace(events.take(kept), values=values, inputs=())


def test_an_operator_with_two_inputs_sees_them_in_order_and_knows_which_is_which() -> None:
    app = pipeline()
    left, right = app.stream("a").node, app.stream("b").node
    topology = app._topology
    topology.add_stateful("pairs", (left, right), (StorePlan("pairs", None),), Pairs)
    topology.add_sink("pairs", OwnTopic("out", "table"))
    run = OfflinePipeline(app)
    run.run({"a": records((1, "x"), (4, "y")), "b": records((2, 1), (3, 2), (5, 3))}, cuts=[1])
    assert values_of(run, "out") == [["x", 1], ["x", 2], ["y", 3]]
