"""What the driver tells a task to do: plain values and the user's functions, ready to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.kafka.groups.names import pipeline_group
from lastword.keyspace import Keyspace
from lastword.pipelines.graph.node import Node, SourceNode, SourcePlan, StepNode
from lastword.pipelines.graph.part import stores_of
from lastword.pipelines.operators.steps import WithHeaders
from lastword.pipelines.run.spans import Span
from lastword.records import TopicPartition


@dataclass(frozen=True)
class TaskPlan:
    """Everything the tasks of one part share; ``partitions`` is how many each source has.

    ``nodes`` come in an order in which each follows its inputs. ``transforms`` are streams that
    Spark makes of the sources, by the names they go under.
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
        """The consumer group whose positions say where the tasks continue."""
        return pipeline_group(self.application_id)

    @property
    def wants_headers(self) -> bool:
        """Whether any node looks at headers: they are read only then."""
        return any(
            isinstance(node, StepNode) and isinstance(node.step, WithHeaders) for node in self.nodes
        )

    @property
    def only_source(self) -> str | None:
        """The topic that every record is from, if there is just one and nothing made of it."""
        (first, *more) = [*self.sources, *self.transforms]
        return None if more else first

    @property
    def decoded(self) -> frozenset[str]:
        """The sources, and streams made of them, whose records enter the graph."""
        return frozenset(node.topic for node in self.nodes if isinstance(node, SourceNode))

    def reads(self, topic: str) -> SourcePlan:
        """How the records of a source, or those made of one, are read."""
        return self.transforms[topic] if topic in self.transforms else self.sources[topic]

    def root_of(self, topic: str) -> str:
        """The source itself, for one that is made of another."""
        return self.reads(topic).root or topic

    @property
    def name(self) -> str:
        """The sources, by which a part is known from one run to the next."""
        return "+".join(sorted(self.sources))

    @property
    def source_partitions(self) -> list[TopicPartition]:
        """Every partition of every source."""
        return [TopicPartition(topic, p) for topic in self.sources for p in range(self.partitions)]

    @property
    def changelogs(self) -> dict[str, str]:
        """Store -> changelog, of the stores that are backed up."""
        return {
            store.name: store.changelog
            for store in stores_of(self.nodes)
            if store.changelog is not None and not store.follows
        }

    @property
    def tables(self) -> dict[str, str]:
        """Store -> topic, of the stores that follow a table."""
        return {
            store.name: store.changelog
            for store in stores_of(self.nodes)
            if store.changelog is not None and store.follows
        }

    def transactional_id(self, partition: int) -> str:
        """Known to every driver of the application, so that a successor can end what is open.

        Neither application ids nor topics contain a colon, so no two pipelines share an id.
        """
        return f"{self.application_id}:{self.name}:{partition}"


@dataclass(frozen=True)
class BatchOrder:
    """What only this batch has: where the sources stood before it, and the driver's proof.

    ``tables`` are the first and the next offset of the tables it joins, as of its beginning.
    ``spans`` is what it reads of several sources; of a single one it reads all that it is given.
    """

    committed: Mapping[TopicPartition, Committed]
    group_metadata: bytes
    tables: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    spans: Mapping[TopicPartition, Span] = field(default_factory=dict)
