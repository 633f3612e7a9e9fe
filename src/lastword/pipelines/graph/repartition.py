"""A passage through a topic, where changed keys have their own partitions."""

from __future__ import annotations

from lastword.codecs.resolve import CodecSpec
from lastword.pipelines.graph.plan import Branch, Sink, SourcePlan, Step
from lastword.pipelines.graph.topology import OwnTopic, Topology
from lastword.pipelines.operators.steps import EncodeValues


def through_topic(
    topology: Topology,
    store: str,
    topics: frozenset[str],
    steps: tuple[Step, ...],
    value: CodecSpec | None,
) -> frozenset[str]:
    """Send the events through the store's repartition topic; returns what to read instead.

    The topic is emptied as it is processed.
    """
    topic = topology.topic_of(store, "repartition")
    # msgpack takes whatever a function made of the values, bytes included.
    value = value or "msgpack"
    topology.add_own_topic(OwnTopic(topic, "repartition"))
    topology.add_branch(
        Branch(topics, (*steps, EncodeValues(value)), Sink(topic, takes_empty_keys=True))
    )
    topology.add_source(SourcePlan(topic, value))
    return frozenset((topic,))
