"""What a pipeline consists of: sources, branches, and the topics that must exist for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lastword.errors import ConfigError
from lastword.pipelines.plan import Branch, SourcePlan

Purpose = Literal["changelog", "repartition", "table"]


@dataclass(frozen=True)
class OwnTopic:
    """A topic the pipeline writes and therefore creates: which settings, and why it is there."""

    name: str
    purpose: Purpose
    settings: Mapping[str, str] = field(default_factory=dict)
    retention_ms: int | None = None


@dataclass
class Topology:
    """Collected while the user builds; read once when the pipeline runs."""

    application_id: str
    sources: dict[str, SourcePlan] = field(default_factory=dict)
    branches: list[Branch] = field(default_factory=list)
    own_topics: dict[str, OwnTopic] = field(default_factory=dict)

    def add_source(self, source: SourcePlan) -> None:
        """A topic may be read by several streams, but only in one way."""
        known = self.sources.setdefault(source.topic, source)
        if (known.key, known.value, known.timestamp) != (
            source.key,
            source.value,
            source.timestamp,
        ):
            raise ConfigError(
                f"{source.topic} is read in two different ways",
                hint="give both streams the same codecs and timestamp, or one stream to both uses",
            )

    def add_own_topic(self, topic: OwnTopic) -> None:
        """Each store and each output has a topic of its own."""
        if topic.name in self.own_topics:
            raise ConfigError(
                f"{topic.name} is written twice", hint="give each store a name of its own"
            )
        self.own_topics[topic.name] = topic

    def topic_of(self, store: str, purpose: Purpose) -> str:
        """``<application-id>-<store>-changelog`` and the like, as Kafka Streams names them."""
        return f"{self.application_id}-{store}-{purpose}"

    def parts(self) -> list[list[Branch]]:
        """Branches that share a source, upstream first: each part becomes one Spark query."""
        groups: list[tuple[set[str], list[Branch]]] = []
        for branch in self.branches:
            touching = [group for group in groups if group[0] & branch.topics]
            topics = set(branch.topics).union(*(group[0] for group in touching))
            members = [each for group in touching for each in group[1]] + [branch]
            groups = [group for group in groups if group not in touching] + [(topics, members)]
        return list(_upstream_first([members for _, members in groups]))


def _upstream_first(parts: list[list[Branch]]) -> Iterator[list[Branch]]:
    """A part that writes a topic comes before the part that reads it; there are no cycles."""
    waiting = list(parts)
    while waiting:
        sinks = {branch.sink for part in waiting for branch in part}
        ready = [part for part in waiting if not sinks & set().union(*(b.topics for b in part))]
        yield from ready
        waiting = [part for part in waiting if part not in ready]
