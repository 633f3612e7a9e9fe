"""Sends events with changed keys through a repartition topic."""

from __future__ import annotations

from lastword.codecs.resolve import CodecSpec, value_spec_for
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.topology import OwnTopic, Topology
from lastword.pipelines.operators.steps import EncodeValues


def through_topic(topology: Topology, store: str, node: str, value: CodecSpec | None) -> str:
    """Send the events through the store's repartition topic; returns the node to read instead.

    The pipeline deletes the topic's records after processing them.
    """
    topic = topology.topic_of(store, "repartition")
    # msgpack can encode any value that a function returns, bytes included.
    value = value_spec_for(topic, value or "msgpack")
    topology.catalog(topic, value=value, store=store)
    encoded = topology.add_step("encode_values", node, EncodeValues(value))
    topology.add_sink(encoded, OwnTopic(topic, "repartition"), takes_empty_keys=True)
    return topology.add_source(SourcePlan(topic, value))
