"""The nodes of a pipeline's graph: sources, operators with or without stores, and sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lastword.codecs.resolve import CodecSpec
from lastword.pipelines.api.folds import Field
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator

MakeOperator = Callable[[], Operator]
Step = Callable[[Events, BatchContext], Events]
"""An operator without stores: filter, map and the like."""


@dataclass(frozen=True)
class SourcePlan:
    """How the records of one topic are read; ``timestamp`` is where a value holds event time.

    With ``transform``, Spark makes the records out of those of the topic ``root``, by this
    function of a DataFrame. ``topic`` is then only a name for the result.
    """

    topic: str
    value: CodecSpec
    timestamp: Field | None = None
    root: str | None = None
    transform: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class StorePlan:
    """A store and its changelog. A changelog of None means it is not backed up.

    With ``follows`` the changelog is another table's topic, and the store is a copy of it.
    """

    name: str
    changelog: str | None
    every_update: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Node:
    """A step on the way of events; ``inputs`` are the names of the nodes before it.

    ``name`` is unique within a pipeline, ``kind`` says in a few words what the node does. A node
    with several inputs receives their events as one stream, in the order of their time.
    """

    name: str
    inputs: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class SourceNode(Node):
    """The decoded records of one topic."""

    topic: str


@dataclass(frozen=True)
class MergeNode(Node):
    """The events of several nodes as one stream."""


@dataclass(frozen=True)
class StepNode(Node):
    """An operator without stores."""

    step: Step


@dataclass(frozen=True)
class StatefulNode(Node):
    """An operator with stores; the first store names the node.

    ``is_result`` says that the pipeline exists for this store: the node runs even if no other
    node follows it.
    """

    stores: tuple[StorePlan, ...]
    make_operator: MakeOperator
    is_result: bool = False


@dataclass(frozen=True)
class SinkNode(Node):
    """Writes the events into a topic.

    Records go to the partition of their key, or with ``aligned`` to the one they come from:
    windows stay where their key is. Only what is no table ``takes_empty_keys``.
    """

    topic: str
    aligned: bool = False
    takes_empty_keys: bool = False
