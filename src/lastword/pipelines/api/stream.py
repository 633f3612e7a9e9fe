"""A stream of events and its operations; nothing runs before ``Pipeline.run``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lastword.codecs.resolve import CodecSpec, sent_to_executors, value_spec_for
from lastword.deduplication import BloomDeduplicator, DeduplicationWindow
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError
from lastword.pipelines.api.folds import Field, check_field
from lastword.pipelines.api.grouped import GroupedStream
from lastword.pipelines.api.store_options import NO_SETTINGS, Settings, as_settings, changelog_of
from lastword.pipelines.graph.node import MakeOperator, SourcePlan, Step, StorePlan
from lastword.pipelines.graph.repartition import through_topic
from lastword.pipelines.graph.topology import OwnTopic, Topology, check_name
from lastword.pipelines.operators.deduplicate import DeduplicateByBloom, DeduplicateWithin
from lastword.pipelines.operators.join import JoinTable
from lastword.pipelines.operators.steps import (
    EncodeValues,
    Filter,
    MapValues,
    SelectKey,
    WithHeaders,
)
from lastword.pipelines.operators.transform import transformed_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEFAULT_FALSE_POSITIVE_RATE = 0.001


@dataclass(frozen=True)
class Stream:
    """Events of one or several topics after some operators; ``node`` is the last one.

    Functions given here run on executors, once per event, and again for the same event after a
    failure. They must return a result and have no side effects, also not on their arguments.
    """

    topology: Topology
    node: str
    key: CodecSpec
    value: CodecSpec | None
    """The codec of the values; None once a function has changed them."""

    rekeyed: bool = False

    def filter(self, predicate: Callable[[Any, Any], Any]) -> Stream:
        """Only the events for which ``predicate(key, value)`` holds."""
        return self._with("filter", Filter(predicate, self.key))

    def map_values(self, function: Callable[[Any], Any]) -> Stream:
        """The same events with ``function(value)`` as their value."""
        return replace(self._with("map_values", MapValues(function)), value=None)

    def with_headers(self, function: Callable[[Any, Mapping[str, bytes | None]], Any]) -> Stream:
        """The same events with ``function(value, headers)`` as their value.

        If several headers have the same name, the last one counts. Headers do not pass a
        repartition topic: read them before ``select_key``.
        """
        return replace(self._with("with_headers", WithHeaders(function)), value=None)

    def transform(
        self,
        function: Callable[[DataFrame], DataFrame],
        name: str,
        *,
        value: CodecSpec | None = None,
        keys_stay: bool = False,
    ) -> Stream:
        """Transform each batch's records with a Spark function; must be the first step of a stream.

        The function gets a DataFrame with ``key`` and ``value`` as bytes, ``topic``, ``partition``,
        ``offset`` and ``timestamp_ms``. It returns one with the same columns and any number of
        rows; ``partition`` and ``offset`` name the record that a row was made from. ``value`` is
        the codec of the new values. Unless ``keys_stay``, grouping goes through a repartition
        topic.
        """
        sources = self.topology.sources_of(self.node)
        if sources is None or any(source.transform is not None for source in sources):
            raise ConfigError(
                "transform() must be the first step of a stream",
                hint="transform first, then filter and map",
            )
        value = value or self.value or "json"
        check_name(name, "a step")
        made = [
            self.topology.add_source(
                SourcePlan(
                    transformed_name(each.topic, name), value, each.timestamp, each.topic, function
                )
            )
            for each in sources
        ]
        node = self.topology.add_merge(made)
        return replace(self, node=node, value=value, rekeyed=not keys_stay)

    def select_key(self, function: Callable[[Any, Any], Any]) -> Stream:
        """The same events with ``function(key, value)`` as their key.

        Grouping then goes through a repartition topic, so that all events of a key meet in one
        partition.
        """
        return replace(self._with("select_key", SelectKey(function, self.key)), rekeyed=True)

    def merge(self, other: Stream) -> Stream:
        """Both streams as one, ordered by time; they must have the same key codec.

        A record that arrives over both streams counts twice, first for the stream declared first.
        """
        if self.key != other.key:
            raise ConfigError(
                f"merge() needs streams with the same key codec, not {self.key!r} and "
                f"{other.key!r}",
                hint="read both topics with the same key=",
            )
        if self.topology is not other.topology:
            raise ConfigError(
                "merge() needs streams of one pipeline", hint="declare both on the same Pipeline"
            )
        value = self.value if self.value == other.value else None
        node = self.topology.add_merge((self.node, other.node))
        return replace(self, node=node, value=value, rekeyed=self.rekeyed or other.rekeyed)

    def deduplicate(
        self,
        id_field: Field,
        store: str,
        *,
        within: Duration | None = None,
        capacity: int | None = None,
        false_positive_rate: float = DEFAULT_FALSE_POSITIVE_RATE,
        changelog: Settings | None = NO_SETTINGS,
    ) -> Stream:
        """Drop events whose message id was seen before in their partition.

        ``id_field`` is a field's name or a function of the value; events without an id are kept.
        With ``within`` the check is exact: an id is remembered for that long, in stream time. With
        ``capacity`` a Bloom filter remembers the last so many ids of each partition; it drops a new
        id as a duplicate at a rate of at most ``false_positive_rate``.
        """
        check_field(id_field)
        if (within is None) == (capacity is None):
            raise ConfigError(
                "deduplicate() needs a time or a number of ids to remember",
                hint="within='10m' or capacity=1_000_000; or leave it to compaction: "
                "select_key() by the id, then to_table()",
            )
        make: MakeOperator
        if within is not None:
            window_ms = DeduplicationWindow(milliseconds(within, what="within")).window_ms
            make = partial(DeduplicateWithin, id_field, window_ms)
        else:
            capacity = capacity or 0
            BloomDeduplicator(capacity=capacity, false_positive_rate=false_positive_rate)
            make = partial(DeduplicateByBloom, id_field, capacity, false_positive_rate)
        plan = StorePlan(store, changelog_of(self.topology, store, changelog))
        node = self.topology.add_stateful("deduplicate", (self.node,), (plan,), make)
        return replace(self, node=node)

    def join(
        self,
        table: str,
        joiner: Callable[[Any, Any], Any],
        store: str,
        *,
        table_value: CodecSpec = "json",
        left: bool = False,
    ) -> Stream:
        """The same events with ``joiner(value, row)`` as value; ``row`` is the table's for the key.

        ``table`` is a compacted topic with the same keys and number of partitions. Events and
        updates are ordered by time: an event sees the updates up to its own time that were in the
        topic when its batch began, and no later ones. Events without a row are dropped; with
        ``left`` they are kept, and ``row`` is None.
        """
        sent_to_executors(table_value)
        if not isinstance(table, str):
            raise ConfigError(
                f"join() needs the name of a compacted topic, not a {type(table).__name__}",
                hint="write a stream to a table first: other.to_table('profiles'), then "
                "join('profiles', ...); for a result, give its topic",
            )
        node = self.node
        if self.rekeyed:
            node = through_topic(self.topology, store, node, self.value)
        plan = StorePlan(check_name(store, "a store"), table, follows=True)
        make = partial(JoinTable, joiner, table_value, left)
        kind = "left join" if left else "join"
        node = self.topology.add_stateful(kind, (node,), (plan,), make)
        return replace(self, node=node, value=None, rekeyed=False)

    def group_by_key(self) -> GroupedStream:
        """The events of each key together, for counts, reductions and windows."""
        return GroupedStream(self.topology, self.node, self.key, self.value, self.rekeyed)

    def to_table(
        self,
        topic: str,
        *,
        value: CodecSpec = "json",
        settings: Settings = NO_SETTINGS,
    ) -> None:
        """Write the events to a compacted topic, by key; a value of None deletes the key.

        An existing topic keeps its partitions and must be compacted; ``settings`` are applied to
        it.
        """
        value = value_spec_for(topic, value)
        encoded = self._with("encode_values", EncodeValues(value))
        own = OwnTopic(topic, "table", as_settings(settings))
        self.topology.add_sink(encoded.node, own, value=value)
        self.topology.catalog(topic, key=self.key, value=value)

    def to_topic(
        self,
        topic: str,
        *,
        value: CodecSpec = "json",
        settings: Settings = NO_SETTINGS,
    ) -> None:
        """Write every event to a topic that keeps all of them, in the partition of its key.

        Events of one key stay in order. A missing topic is created with ``cleanup.policy=delete``.
        An existing one keeps its partitions and must not be compacted; ``settings`` are applied to
        it.
        """
        value = value_spec_for(topic, value)
        encoded = self._with("encode_values", EncodeValues(value))
        own = OwnTopic(topic, "events", as_settings(settings))
        self.topology.add_sink(encoded.node, own, value=value)
        self.topology.catalog(topic, key=self.key, value=value)

    def _with(self, kind: str, step: Step) -> Stream:
        return replace(self, node=self.topology.add_step(kind, self.node, step))
