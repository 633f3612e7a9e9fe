"""The parts of a graph: nodes that share a source run in one Spark query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lastword.errors import ConfigError
from lastword.pipelines.graph.node import (
    Node,
    SinkNode,
    SourceNode,
    SourcePlan,
    StatefulNode,
    StorePlan,
)

Part = tuple[Node, ...]
"""Nodes that share sources; each comes after its inputs."""


def parts_of(nodes: Mapping[str, Node], sources: Mapping[str, SourcePlan]) -> list[Part]:
    """The nodes that lead to a result, grouped by shared sources; upstream parts first."""
    groups: list[tuple[set[str], set[str]]] = []
    for end in filter(is_end, nodes.values()):
        members = set(upstream_of(nodes, end.name))
        read = topics_of(nodes[name] for name in members)
        roots = {sources[topic].root or topic for topic in read}
        touching = [group for group in groups if group[0] & roots]
        roots, members = (
            each.union(*(group[n] for group in touching)) for n, each in enumerate((roots, members))
        )
        groups = [group for group in groups if group not in touching] + [(roots, members)]
    in_order = [
        tuple(node for name, node in nodes.items() if name in members) for _, members in groups
    ]
    return list(_upstream_first(in_order))


def is_end(node: Node) -> bool:
    """Whether this node is a result of the pipeline."""
    return isinstance(node, SinkNode) or (isinstance(node, StatefulNode) and node.is_result)


def upstream_of(nodes: Mapping[str, Node], name: str) -> list[str]:
    """The node and all nodes before it, in the order of declaration."""
    wanted, found = [name], set[str]()
    while wanted:
        node = nodes[wanted.pop()]
        found.add(node.name)
        wanted += [each for each in node.inputs if each not in found]
    return [each for each in nodes if each in found]


def topics_of(nodes: Iterable[Node]) -> frozenset[str]:
    """The topics that these nodes read, including streams that Spark derives from them."""
    return frozenset(node.topic for node in nodes if isinstance(node, SourceNode))


def sinks_of(nodes: Iterable[Node]) -> list[SinkNode]:
    """The nodes that write a topic."""
    return [node for node in nodes if isinstance(node, SinkNode)]


def stores_of(nodes: Iterable[Node]) -> list[StorePlan]:
    """The stores of these nodes."""
    return [store for node in nodes if isinstance(node, StatefulNode) for store in node.stores]


def tables_of(nodes: Iterable[Node]) -> frozenset[str]:
    """The topics that these nodes join with."""
    return frozenset(
        store.changelog for store in stores_of(nodes) if store.follows and store.changelog
    )


def _upstream_first(parts: Sequence[Part]) -> Iterator[Part]:
    """A part that writes a topic comes before the part that reads it."""
    waiting: Collection[Part] = list(parts)
    while waiting:
        written = {sink.topic for part in waiting for sink in sinks_of(part)}
        ready = [part for part in waiting if not written & topics_of(part)]
        if not ready:
            raise ConfigError(
                f"the pipeline writes {', '.join(sorted(written))} and reads it back in a cycle",
                hint="write to a topic that is not a source of the pipeline",
            )
        yield from ready
        waiting = [part for part in waiting if part not in ready]
