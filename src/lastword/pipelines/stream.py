"""A stream of events and what can be done with it; nothing runs before ``Pipeline.run``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lastword.codecs.resolve import CodecSpec
from lastword.errors import ConfigError
from lastword.pipelines.grouped import GroupedStream
from lastword.pipelines.plan import Branch, Sink, Step
from lastword.pipelines.steps import EncodeValues, Filter, MapValues, SelectKey
from lastword.pipelines.store_options import as_settings
from lastword.pipelines.topology import OwnTopic, Topology


@dataclass(frozen=True)
class Stream:
    """Events of one or several topics, on their way through stages without state.

    Functions given here run on executors, for each event, and again for the same event after a
    failure: they return a result and change nothing, their arguments included.
    """

    topology: Topology
    topics: frozenset[str]
    key: CodecSpec
    value: CodecSpec | None
    """How values were written; None once a function has made them into something else."""

    steps: tuple[Step, ...] = ()
    rekeyed: bool = False

    def filter(self, predicate: Callable[[Any, Any], Any]) -> Stream:
        """Only the events for which ``predicate(key, value)`` holds."""
        return self._with(Filter(predicate, self.key))

    def map_values(self, function: Callable[[Any], Any]) -> Stream:
        """The same events with ``function(value)`` as their value."""
        return replace(self._with(MapValues(function)), value=None)

    def select_key(self, function: Callable[[Any, Any], Any]) -> Stream:
        """The same events under ``function(key, value)`` as their key.

        What is grouped after that goes through a repartition topic, so that all events of a
        key meet in one partition.
        """
        return replace(self._with(SelectKey(function, self.key)), rekeyed=True)

    def merge(self, other: Stream) -> Stream:
        """Both streams as one, by time; they must be untouched and keyed alike."""
        if self.steps or other.steps or self.key != other.key:
            raise ConfigError(
                "merge() takes streams with the same key codec, before any other step",
                hint="merge first, then filter and map",
            )
        value = self.value if self.value == other.value else None
        return replace(self, topics=self.topics | other.topics, value=value)

    def group_by_key(self) -> GroupedStream:
        """The events of each key together, for counts, reductions and windows."""
        return GroupedStream(
            self.topology, self.topics, self.key, self.value, self.steps, self.rekeyed
        )

    def to_table(
        self,
        topic: str,
        *,
        value: CodecSpec = "json",
        settings: Mapping[str, str | int | float] | None = None,
    ) -> None:
        """Write the events into a compacted topic, by key; a value of None deletes the key.

        A topic that is there already keeps its partitions and must be compacted; ``settings``
        are set on it.
        """
        self.topology.add_own_topic(OwnTopic(topic, "table", as_settings(settings or {})))
        steps: tuple[Step, ...] = (*self.steps, EncodeValues(value))
        self.topology.add_branch(Branch(self.topics, steps, Sink(topic)))

    def _with(self, step: Step) -> Stream:
        return replace(self, steps=(*self.steps, step))
