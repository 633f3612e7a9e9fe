"""What a computation leaves: a table, in a topic that any Kafka client can read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lastword.codecs.resolve import CodecSpec
from lastword.errors import ConfigError
from lastword.pipelines.api.store_options import NO_SETTINGS, Settings, as_settings
from lastword.pipelines.graph.plan import Branch, Sink, Stateful, StorePlan
from lastword.pipelines.graph.topology import OwnTopic, Topology
from lastword.pipelines.operators.make_fold import MakeFold

DEFAULT_MAX_WINDOWS = 100_000


@dataclass(frozen=True)
class Suppressing:
    """How the windows of a branch are held back until they are closed."""

    topology: Topology
    branch: Branch

    def hold_back(self, max_windows: int, settings: Settings) -> str:
        """Have the branch tell final windows into a topic of their own; returns its name."""
        stage = self.branch.steps[-1]
        if not isinstance(stage, Stateful) or not isinstance(stage.make_operator, MakeFold):
            raise TypeError(f"{self.branch.name} does not end in windows")
        store, make = stage.stores[0], stage.make_operator
        if store.changelog is None:
            raise ConfigError(
                f"{store.name!r} is not backed up: what it holds back would be lost with it",
                hint="leave changelog=None out",
            )
        index = f"{store.name}-suppress"
        changelog = self.topology.topic_of(index, "changelog")
        final = self.topology.topic_of(store.name, "final")
        self.topology.add_own_topic(OwnTopic(changelog, "changelog"))
        self.topology.add_own_topic(OwnTopic(final, "final", as_settings(settings)))
        held = Stateful(
            (store, StorePlan(index, changelog)), replace(make, hold_at_most=max_windows)
        )
        sink = Sink(final, aligned=True)
        self.topology.replace_branch(
            self.branch, replace(self.branch, steps=(*self.branch.steps[:-1], held), sink=sink)
        )
        return final


@dataclass(frozen=True)
class Result:
    """A table that a pipeline maintains.

    Open it as ``Table(result.topic, key=result.key, value=result.value)``; the topic is None for
    a store that is not backed up.
    """

    store: str
    topic: str | None
    key: CodecSpec
    value: CodecSpec
    suppressing: Suppressing | None = field(default=None, repr=False, compare=False)

    def suppress(
        self, *, max_windows: int = DEFAULT_MAX_WINDOWS, settings: Settings = NO_SETTINGS
    ) -> Result:
        """Only final windows: each is told once, when it has closed, and never changes.

        They are in a topic of their own, ``<application-id>-<store>-final``; the changelog has
        the open ones too. ``max_windows`` is how many a partition may hold back. One more, and
        the pipeline stops with a PipelineError: to tell windows early would break the promise,
        and nothing is lost by it.

        The topic keeps a window for as long as the store does, by stream time, and then gets a
        tombstone for it. ``settings`` are topic settings that go over that.
        """
        if self.suppressing is None:
            raise ConfigError(
                f"{self.store!r} has no windows that could close, or holds them back already",
                hint="group, then .windowed_by(tumbling('60s')), then count, then .suppress()",
            )
        if max_windows < 1:
            raise ConfigError(
                f"{max_windows} windows cannot be held back", hint="give max_windows above 0"
            )
        return replace(
            self, topic=self.suppressing.hold_back(max_windows, settings), suppressing=None
        )
