"""A pipeline's topology for people: as text, as a Mermaid diagram, or as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lastword.pipelines.graph.node import Node, SinkNode, SourceNode, StatefulNode, StorePlan
from lastword.pipelines.graph.part import Part, topics_of
from lastword.pipelines.graph.topology import Topology


def as_values(topology: Topology) -> dict[str, Any]:
    """Parts with their nodes and stores, and every topic that the pipeline writes."""
    own = [topology.control, topology.quarantine, *topology.own_topics.values()]
    return {
        "pipeline": topology.application_id,
        "parts": [
            {"sources": sorted(topics_of(part)), "nodes": [_node(node) for node in part]}
            for part in topology.parts()
        ],
        "topics": [{"topic": topic.name, "purpose": topic.purpose} for topic in own],
    }


def as_text(topology: Topology) -> str:
    """One line per node, upstream first, followed by its stores."""
    lines = [f"pipeline {topology.application_id}"]
    for number, part in enumerate(topology.parts(), 1):
        lines += ["", f"part {number}, reads {', '.join(sorted(topics_of(part)))}"]
        lines += [f"  {line}" for node in part for line in _lines(node)]
    lines += ["", "topics it writes"]
    own = [*topology.own_topics.values(), topology.quarantine, topology.control]
    lines += [f"  {topic.name} ({topic.purpose})" for topic in own]
    return "\n".join(lines)


def as_mermaid(topology: Topology) -> str:
    """A flowchart: topics are rounded, stores are cylinders, each part is a box."""
    parts = topology.parts()
    ids = {node.name: f"n{i}" for i, node in enumerate(node for part in parts for node in part)}
    topics: dict[str, str] = {}
    lines = ["flowchart LR"]
    edges: list[str] = []
    for number, part in enumerate(parts, 1):
        lines.append(f'  subgraph part{number}["part {number}"]')
        lines += [f"    {line}" for line in _shapes(part, ids)]
        lines.append("  end")
        edges += _edges(part, ids, topics)
    lines += [f'  {name}(["{topic}"])' for topic, name in topics.items()]
    return "\n".join([*lines, *(f"  {edge}" for edge in edges)])


def _node(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"name": node.name, "kind": node.kind, "inputs": list(node.inputs)}
    if isinstance(node, SourceNode | SinkNode):
        found["topic"] = node.topic
    if isinstance(node, StatefulNode):
        found["stores"] = [
            {"store": store.name, ("table" if store.follows else "changelog"): store.changelog}
            for store in node.stores
        ]
    return found


def _lines(node: Node) -> Iterator[str]:
    kind = f" ({node.kind})" if isinstance(node, StatefulNode | SinkNode) else ""
    yield f"{node.name}{kind}" + (f" <- {', '.join(node.inputs)}" if node.inputs else "")
    for store in _stores(node):
        yield f"  store {store.name}, {_backing(store)}"


def _backing(store: StorePlan) -> str:
    if store.changelog is None:
        return "not backed up"
    return f"{'follows' if store.follows else 'changelog'} {store.changelog}"


def _stores(node: Node) -> Sequence[StorePlan]:
    return node.stores if isinstance(node, StatefulNode) else ()


def _shapes(part: Part, ids: dict[str, str]) -> Iterator[str]:
    for node in part:
        if isinstance(node, StatefulNode):
            yield f'{ids[node.name]}["{node.name}: {node.kind}"]'
        elif not isinstance(node, SourceNode | SinkNode):
            yield f'{ids[node.name]}["{node.name}"]'
        for n, store in enumerate(_stores(node)):
            yield f'{ids[node.name]}s{n}[("{store.name}")]'


def _edges(part: Part, ids: dict[str, str], topics: dict[str, str]) -> Iterator[str]:
    """Topics are separate nodes, shared by the parts that write and read them."""

    def topic_id(topic: str) -> str:
        return topics.setdefault(topic, f"t{len(topics)}")

    found = {node.name: ids[node.name] for node in part}
    found |= {node.name: topic_id(node.topic) for node in part if isinstance(node, SourceNode)}
    for node in part:
        end = topic_id(node.topic) if isinstance(node, SinkNode) else ids[node.name]
        yield from (f"{found[each]} --> {end}" for each in node.inputs)
        for n, store in enumerate(_stores(node)):
            kept = f"{ids[node.name]}s{n}"
            yield f"{end} --- {kept}"
            if store.changelog is not None:
                topic = topic_id(store.changelog)
                yield f"{topic} -.-> {kept}" if store.follows else f"{kept} -.-> {topic}"
