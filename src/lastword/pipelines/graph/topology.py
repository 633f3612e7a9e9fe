"""What a pipeline consists of: sources, branches, and the topics that must exist for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lastword.errors import ConfigError
from lastword.pipelines.graph.plan import Branch, SourcePlan

Purpose = Literal["changelog", "repartition", "table", "final", "control", "quarantine"]

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class OwnTopic:
    """A topic the pipeline writes and therefore creates: which settings, and why it is there."""

    name: str
    purpose: Purpose
    settings: Mapping[str, str] = field(default_factory=dict)
    retention_ms: int | None = None


class Topology:
    """Collected while the user builds; read once when the pipeline runs."""

    def __init__(self, application_id: str) -> None:
        self.application_id = check_name(application_id, "an application id")
        self.sources: dict[str, SourcePlan] = {}
        self.branches: list[Branch] = []
        self.own_topics: dict[str, OwnTopic] = {}

    def add_source(self, source: SourcePlan) -> None:
        """A topic may be read by several streams, but only in one way."""
        if self.sources.setdefault(source.topic, source) != source:
            raise ConfigError(
                f"{source.topic} is read in two different ways",
                hint="give both streams the same codec and timestamp, or one stream to both uses",
            )

    def add_own_topic(self, topic: OwnTopic) -> None:
        """Each store and each output has a topic of its own."""
        if topic.name in self.own_topics:
            raise ConfigError(
                f"{topic.name} is written twice", hint="give each store a name of its own"
            )
        self.own_topics[topic.name] = topic

    def add_branch(self, branch: Branch) -> None:
        """Each branch ends in a store or a topic of its own."""
        known = [stage for other in self.branches for stage in other.stages]
        for stage in branch.stages:
            # Branches of one stream share its stages; another stage needs another store.
            if any(stage.name == other.name and stage is not other for other in known):
                raise ConfigError(
                    f"there are two stores named {stage.name!r}",
                    hint="give each store a name of its own",
                )
        self.branches.append(branch)

    def replace_branch(self, old: Branch, new: Branch) -> None:
        """Have a branch do more than it did; its stores stay its own."""
        self.branches[self.branches.index(old)] = new

    def topic_of(self, store: str, purpose: Purpose) -> str:
        """``<application-id>-<store>-changelog`` and the like, as Kafka Streams names them."""
        return f"{self.application_id}-{check_name(store, 'a store')}-{purpose}"

    def parts(self) -> list[list[Branch]]:
        """Branches that share a source, upstream first: each part becomes one Spark query."""
        if not self.branches:
            raise ConfigError(
                f"the pipeline {self.application_id!r} computes nothing",
                hint="end a stream in a store: app.stream('t').group_by_key().count('n')",
            )
        groups: list[tuple[set[str], list[Branch]]] = []
        for branch in self.branches:
            roots = {self.sources[topic].root or topic for topic in branch.topics}
            touching = [group for group in groups if group[0] & roots]
            topics = roots.union(*(group[0] for group in touching))
            members = [each for group in touching for each in group[1]] + [branch]
            groups = [group for group in groups if group not in touching] + [(topics, members)]
        return list(_upstream_first([members for _, members in groups]))


def check_name(name: str, what: str) -> str:
    """A name that can be part of a topic and of a directory."""
    if not _SAFE_NAME.fullmatch(name):
        raise ConfigError(
            f"{what} cannot be named {name!r}", hint="use letters, digits, '.', '_' and '-'"
        )
    return name


def _upstream_first(parts: list[list[Branch]]) -> Iterator[list[Branch]]:
    """A part that writes a topic comes before the part that reads it."""
    waiting = list(parts)
    while waiting:
        sinks = {branch.sink.topic for part in waiting for branch in part if branch.sink}
        ready = [part for part in waiting if not sinks & set().union(*(b.topics for b in part))]
        if not ready:
            raise ConfigError(
                f"the pipeline writes {', '.join(sorted(sinks))} and reads it back in a circle",
                hint="write into a topic that is not among the pipeline's own sources",
            )
        yield from ready
        waiting = [part for part in waiting if part not in ready]
