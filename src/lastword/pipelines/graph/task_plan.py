"""What the driver sends to a task: plain values and the user's functions."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lastword.codecs.resolve import codec
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.kafka.groups.names import pipeline_group
from lastword.keyspace import Keyspace
from lastword.pipelines.api.folds import fields_of
from lastword.pipelines.graph.node import (
    Node,
    SourceNode,
    SourcePlan,
    StatefulNode,
    StepNode,
)
from lastword.pipelines.graph.part import stores_of, topics_of
from lastword.pipelines.operators.make_fold import MakeFold
from lastword.pipelines.operators.steps import WithHeaders
from lastword.pipelines.run.spans import Span
from lastword.records import TopicPartition


@dataclass(frozen=True)
class TaskPlan:
    """What all tasks of one part share; each source has ``partitions`` partitions.

    ``nodes`` are sorted so that each follows its inputs. ``transforms`` are the streams that Spark
    derives from the sources, by name.
    """

    application_id: str
    connection: Connection
    partitions: int
    sources: Mapping[str, SourcePlan]
    nodes: tuple[Node, ...]
    quarantine_topic: str
    state_dir: Path
    sink_keyspaces: Mapping[str, Keyspace] = field(default_factory=dict)
    transforms: Mapping[str, SourcePlan] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The consumer group with the committed positions."""
        return pipeline_group(self.application_id)

    @property
    def wants_headers(self) -> bool:
        """Whether a node or a codec reads headers; otherwise they are not fetched."""
        sources = (*self.sources.values(), *self.transforms.values())
        return any(codec(source.value).id_header is not None for source in sources) or any(
            isinstance(node, StepNode) and isinstance(node.step, WithHeaders) for node in self.nodes
        )

    @property
    def only_source(self) -> str | None:
        """The topic of all records, if there is only one and no transform."""
        (first, *more) = [*self.sources, *self.transforms]
        return None if more else first

    @property
    def decoded(self) -> frozenset[str]:
        """The sources and derived streams whose records enter the graph."""
        return frozenset(node.topic for node in self.nodes if isinstance(node, SourceNode))

    def reads(self, topic: str) -> SourcePlan:
        """How to read the records of a source or a derived stream."""
        return self.transforms[topic] if topic in self.transforms else self.sources[topic]

    def fields_of(self, topic: str) -> tuple[str, ...] | None:
        """The members that the nodes after a source read of its objects; None if any may be."""
        source = self.reads(topic)
        names = [node.name for node in self.nodes if topic in topics_of([node])]
        read = [
            node.make_operator.fold.fields
            if isinstance(node, StatefulNode) and isinstance(node.make_operator, MakeFold)
            else None
            for node in self.nodes
            if not set(names).isdisjoint(node.inputs)
        ]
        if source.timestamp is not None:
            read.append(fields_of(source.timestamp))
        known = [fields for fields in read if fields is not None]
        if len(known) < len(read):
            return None
        return tuple(sorted({field for fields in known for field in fields}))

    def root_of(self, topic: str) -> str:
        """The source of a derived stream; any other source itself."""
        return self.reads(topic).root or topic

    @property
    def name(self) -> str:
        """The sources, which identify a part across runs."""
        return "+".join(sorted(self.sources))

    @property
    def source_partitions(self) -> list[TopicPartition]:
        """Every partition of every source."""
        return [TopicPartition(topic, p) for topic in self.sources for p in range(self.partitions)]

    @property
    def changelogs(self) -> dict[str, str]:
        """Store -> changelog, for stores with a changelog."""
        return {
            store.name: store.changelog
            for store in stores_of(self.nodes)
            if store.changelog is not None and not store.follows
        }

    @property
    def tables(self) -> dict[str, str]:
        """Store -> topic, for stores that are a copy of a table."""
        return {
            store.name: store.changelog
            for store in stores_of(self.nodes)
            if store.changelog is not None and store.follows
        }

    def transactional_id(self, partition: int) -> str:
        """The transactional id, the same for every driver: a successor can end a transaction.

        Neither application ids nor topics contain a colon, so no two pipelines share an id.
        """
        return f"{self.application_id}:{self.name}:{partition}"


@dataclass(frozen=True)
class BatchOrder:
    """What changes with each batch: the positions of the sources, and the driver's membership.

    ``tables`` has the first and the end offset of the joined tables at the start of the batch.
    ``spans`` says what to read from several sources; from a single one it reads what Spark gives.
    A worker that has had a partition for ``keeps_stores_after`` batches in a row keeps its stores
    open for the next one; None: it closes them after each batch.
    """

    committed: Mapping[TopicPartition, Committed]
    group_metadata: bytes
    tables: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    spans: Mapping[TopicPartition, Span] = field(default_factory=dict)
    keeps_stores_after: int | None = None

    def as_text(self) -> str:
        """The order as text, for ``from_text``."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def from_text(cls, text: str) -> BatchOrder:
        """The order that the driver has written. It sends pickled functions to tasks, too."""
        order = pickle.loads(base64.b64decode(text))  # noqa: S301
        if not isinstance(order, cls):
            raise TypeError(f"{type(order)} is not an order")
        return order
