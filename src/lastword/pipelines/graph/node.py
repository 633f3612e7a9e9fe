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
"""An operator without stores, such as filter or map."""


@dataclass(frozen=True)
class SourcePlan:
    """How to read the records of one topic; ``timestamp`` says where a value has its event time.

    With ``transform``, Spark derives the records from those of the topic ``root``, by this function
    of a DataFrame. ``topic`` is then only a name for the result. ``in_order``
    requires a topic with one partition.
    """

    topic: str
    value: CodecSpec
    timestamp: Field | None = None
    root: str | None = None
    transform: Callable[[Any], Any] | None = None
    in_order: bool = False


@dataclass(frozen=True)
class StorePlan:
    """A store and its changelog; without a changelog it is not backed up.

    With ``follows`` the changelog is another table's topic, and the store is a copy of it.
    """

    name: str
    changelog: str | None
    every_update: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Node:
    """A step in the graph; ``inputs`` are the names of the nodes before it.

    ``name`` is unique within a pipeline; ``kind`` describes the node in a few words. A node with
    several inputs receives their events as one stream, ordered by time.
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

    ``is_result`` says that this store is a result of the pipeline: the node runs even if no other
    node follows it.
    """

    stores: tuple[StorePlan, ...]
    make_operator: MakeOperator
    is_result: bool = False


@dataclass(frozen=True)
class SinkNode(Node):
    """Writes the events to a topic.

    Records go to the partition of their key, or with ``aligned`` to the partition they come from,
    so that windows stay with their key. Only a topic that is not a table ``takes_empty_keys``.
    ``value`` is the codec of the values if it may write a part of them to headers. With
    ``keeps_headers`` the headers of the events are written, too.
    """

    topic: str
    aligned: bool = False
    takes_empty_keys: bool = False
    value: CodecSpec | None = None
    keeps_headers: bool = False
