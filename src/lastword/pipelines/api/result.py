"""The result of a computation: a table in a topic that any Kafka client can read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lastword.codecs.resolve import CodecSpec
from lastword.errors import ConfigError
from lastword.pipelines.api.store_options import NO_SETTINGS, Settings, as_settings
from lastword.pipelines.graph.node import StatefulNode, StorePlan
from lastword.pipelines.graph.topology import OwnTopic, Topology
from lastword.pipelines.operators.make_fold import MakeFold

DEFAULT_MAX_WINDOWS = 100_000


@dataclass(frozen=True)
class Result:
    """A table that a pipeline maintains.

    Open it as ``Table(result.topic, key=result.key, value=result.value)``. The topic is None for a
    store without a changelog.
    """

    store: str
    topic: str | None
    key: CodecSpec
    value: CodecSpec
    windowed_in: Topology | None = field(default=None, repr=False, compare=False)

    def suppress(
        self, *, max_windows: int = DEFAULT_MAX_WINDOWS, settings: Settings = NO_SETTINGS
    ) -> Result:
        """Emit final windows only: each one once, when it closes; it never changes afterwards.

        They go to a separate topic, ``<application-id>-<store>-final``; the changelog also has the
        open ones. ``max_windows`` limits how many open windows a partition may buffer. Beyond it,
        the pipeline stops with a PipelineError, because emitting windows early would break the
        promise; no data is lost.

        The topic keeps a window as long as the store does, in stream time, and then gets a
        tombstone for it. ``settings`` are topic settings that override the defaults.
        """
        topology = self.windowed_in
        if topology is None:
            raise ConfigError(
                f"{self.store!r} has no windows to close, or is already suppressed",
                hint="group, then .windowed_by(tumbling('60s')), then count, then .suppress()",
            )
        if max_windows < 1:
            raise ConfigError(
                f"max_windows cannot be {max_windows}", hint="give max_windows above 0"
            )
        topic = _emit_final(topology, self.store, max_windows, settings)
        topology.catalog(topic, key=self.key, value=self.value, store=self.store)
        return replace(self, topic=topic, windowed_in=None)


def _emit_final(topology: Topology, store: str, max_windows: int, settings: Settings) -> str:
    """Make the window node emit closed windows to a topic; returns the topic's name."""
    node = topology.nodes[store]
    if not isinstance(node, StatefulNode) or not isinstance(node.make_operator, MakeFold):
        raise TypeError(f"{store} has no windows")
    if node.stores[0].changelog is None:
        raise ConfigError(
            f"{store!r} has no changelog, so a failure would lose its buffered windows",
            hint="remove changelog=None",
        )
    index = f"{store}-suppress"
    changelog = topology.topic_of(index, "changelog")
    topology.add_own_topic(OwnTopic(changelog, "changelog"))
    topology.extend_stateful(
        replace(
            node,
            kind=f"{node.kind}, final",
            stores=(*node.stores, StorePlan(index, changelog)),
            make_operator=replace(node.make_operator, hold_at_most=max_windows),
        )
    )
    final = OwnTopic(topology.topic_of(store, "final"), "final", as_settings(settings))
    topology.add_sink(node.name, final, aligned=True)
    return final.name
