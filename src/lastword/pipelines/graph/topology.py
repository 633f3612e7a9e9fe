"""The graph of a pipeline while it is declared: its nodes, and the topics they need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lastword.catalog.catalog_entry import CatalogEntry, entry_of
from lastword.codecs.base import Context, KeyCodec
from lastword.codecs.resolve import CodecSpec, codec, key_codec
from lastword.errors import ConfigError
from lastword.pipelines.graph.node import (
    MakeOperator,
    MergeNode,
    Node,
    SinkNode,
    SourceNode,
    SourcePlan,
    StatefulNode,
    Step,
    StepNode,
    StorePlan,
)
from lastword.pipelines.graph.part import Part, is_end, parts_of, stores_of

Purpose = Literal["changelog", "repartition", "table", "events", "final", "control", "quarantine"]

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Route = tuple[int, ...]
"""The nodes from a source to a node, by order of declaration; the first of several routes."""


@dataclass(frozen=True)
class OwnTopic:
    """A topic that the pipeline writes and creates: its settings and its purpose."""

    name: str
    purpose: Purpose
    settings: Mapping[str, str] = field(default_factory=dict)
    retention_ms: int | None = None


class Topology:
    """Grows while the user declares streams; read once when the pipeline runs.

    Names of stores and topics contain no spaces; names of other nodes do. So names of nodes never
    collide: ``source clicks``, ``filter 1``, ``per-user``, ``to users``.
    """

    def __init__(self, application_id: str) -> None:
        self.application_id = check_name(application_id, "an application id")
        self.sources: dict[str, SourcePlan] = {}
        self.nodes: dict[str, Node] = {}
        self.own_topics: dict[str, OwnTopic] = {}
        self.entries: dict[str, CatalogEntry] = {}
        """The catalog entries of the topics that others may want to read."""
        self.keys: dict[str, KeyCodec[Any]] = {}
        """The codecs of their keys."""
        self.control = OwnTopic(f"{application_id}-control", "control")
        self.quarantine = OwnTopic(f"{application_id}-quarantine", "quarantine")
        self._routes: dict[str, Route] = {}
        self._routes_into: dict[str, dict[str, Route]] = {}
        self._numbers = Counter[str]()

    def add_source(self, source: SourcePlan) -> str:
        """Add the node of a topic. Several streams may read it, but only with the same options."""
        if self.sources.setdefault(source.topic, source) != source:
            raise ConfigError(
                f"{source.topic} is read in two different ways",
                hint="give both streams the same codec and timestamp, or one stream to both uses",
            )
        name = f"source {source.topic}"
        return (
            name if name in self.nodes else self._add(SourceNode(name, (), "source", source.topic))
        )

    def add_step(self, kind: str, upstream: str, step: Step) -> str:
        """Add an operator without stores after ``upstream``."""
        return self._add(StepNode(self._numbered(kind), (upstream,), kind, step))

    def add_merge(self, upstream: Iterable[str]) -> str:
        """Merge the events of these nodes into one stream; a single node is returned as it is.

        Merges of merges become one. If one record arrives over several routes, they are taken in
        the order of their declaration, as in Kafka Streams.
        """
        routes: dict[str, Route] = {}
        for merged in upstream:
            for each, route in self._merged_routes(merged, len(self.nodes)).items():
                routes[each] = min(route, routes.get(each, route))
        untouched = all(isinstance(self.nodes[each], SourceNode) for each in routes)
        inputs = sorted(routes, key=lambda each: (() if untouched else routes[each], each))
        if len(inputs) == 1:
            return inputs[0]
        for node in self.nodes.values():
            if isinstance(node, MergeNode) and node.inputs == tuple(inputs):
                return node.name
        name = self._add(MergeNode(self._numbered("merge"), tuple(inputs), "merge"))
        self._routes_into[name] = routes
        return name

    def add_stateful(
        self,
        kind: str,
        upstream: tuple[str, ...],
        stores: tuple[StorePlan, ...],
        make_operator: MakeOperator,
        *,
        is_result: bool = False,
    ) -> str:
        """Add an operator with stores after one or several nodes; each store has one node."""
        name = stores[0].name
        if any(name == other.name for other in stores_of(self.nodes.values())):
            raise ConfigError(
                f"two stores are named {name!r}", hint="give each store a unique name"
            )
        return self._add(StatefulNode(name, upstream, kind, stores, make_operator, is_result))

    def extend_stateful(self, node: StatefulNode) -> None:
        """Replace a node by one with more stores or another operator, in the same place."""
        self.nodes[node.name] = node

    def add_sink(
        self,
        upstream: str,
        topic: OwnTopic,
        *,
        aligned: bool = False,
        takes_empty_keys: bool = False,
        value: CodecSpec | None = None,
        keeps_headers: bool = False,
    ) -> str:
        """Write the events of ``upstream`` to a topic of the pipeline."""
        self.add_own_topic(topic)
        name = f"to {topic.name}"
        return self._add(
            SinkNode(
                *(name, (upstream,), topic.purpose, topic.name),
                aligned=aligned,
                takes_empty_keys=takes_empty_keys,
                value=value,
                keeps_headers=keeps_headers,
            )
        )

    def add_own_topic(self, topic: OwnTopic) -> None:
        """Register a topic; each store and each output has its own."""
        if topic.name in self.own_topics:
            raise ConfigError(
                f"{topic.name} is written twice", hint="give each store a unique name"
            )
        self.own_topics[topic.name] = topic

    def catalog(
        self,
        topic: str | None,
        *,
        value: CodecSpec,
        key: CodecSpec | None = None,
        store: str | None = None,
    ) -> None:
        """Describe ``topic`` for the catalog; None is a store without a topic."""
        if topic is not None:
            if key is not None:
                self.keys[topic] = key_codec(key)
            self.entries[topic] = entry_of(
                self.keys.get(topic),
                codec(value).bound(Context(topic, "value")),
                written_by=f"pipeline {self.application_id}"
                + ("" if store is None else f", store {store}"),
            )

    def topic_of(self, store: str, purpose: Purpose) -> str:
        """``<application-id>-<store>-changelog`` and the like, as Kafka Streams names them."""
        return f"{self.application_id}-{check_name(store, 'a store')}-{purpose}"

    def sources_of(self, name: str) -> list[SourcePlan] | None:
        """The sources of a stream; None once an operator was applied to them."""
        nodes = [self.nodes[each] for each in self._unmerged(name)]
        sources = [self.sources[node.topic] for node in nodes if isinstance(node, SourceNode)]
        return sources if len(sources) == len(nodes) else None

    def parts(self) -> list[Part]:
        """The nodes grouped by shared sources, upstream first; each part is one Spark query."""
        if not any(map(is_end, self.nodes.values())):
            raise ConfigError(
                f"the pipeline {self.application_id!r} has no result",
                hint="end a stream in a store: app.stream('t').group_by_key().count('n')",
            )
        return parts_of(self.nodes, self.sources)

    def _add(self, node: Node) -> str:
        routes = [self._routes[each] for each in node.inputs]
        self._routes[node.name] = (*min(routes), len(self.nodes)) if routes else ()
        self.nodes[node.name] = node
        return node.name

    def _numbered(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind} {self._numbers[kind]}"

    def _merged_routes(self, name: str, merge: int) -> Mapping[str, Route]:
        """The inputs that a node brings into a merge, with their routes."""
        return self._routes_into.get(name, {name: (*self._routes[name], merge)})

    def _unmerged(self, name: str) -> tuple[str, ...]:
        node = self.nodes[name]
        return node.inputs if isinstance(node, MergeNode) else (name,)


def check_name(name: str, what: str) -> str:
    """Check a name that becomes part of a topic and of a directory."""
    if not _SAFE_NAME.fullmatch(name):
        raise ConfigError(
            f"{what} cannot be named {name!r}", hint="use letters, digits, '.', '_' and '-'"
        )
    return name
