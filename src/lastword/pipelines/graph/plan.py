"""What the driver tells a task to do: plain values and the user's functions, ready to be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lastword.codecs.resolve import CodecSpec
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.kafka.groups.names import pipeline_group
from lastword.keyspace import Keyspace
from lastword.pipelines.api.folds import Field
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.steps import WithHeaders
from lastword.pipelines.run.spans import Span
from lastword.records import TopicPartition

MakeOperator = Callable[[], Operator]


@dataclass(frozen=True)
class SourcePlan:
    """How the records of one topic are read; ``timestamp`` is where a value holds event time.

    With ``transform`` they are not those of a topic as they are: a function of Spark's DataFrame
    has made them of the records of ``root``, and ``topic`` is only a name for the result.
    """

    topic: str
    value: CodecSpec
    timestamp: Field | None = None
    root: str | None = None
    transform: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class StorePlan:
    """A store and its changelog. A changelog of None means it is not backed up.

    With ``follows`` the changelog is somebody else's table, which the store only follows.
    """

    name: str
    changelog: str | None
    every_update: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Stateful:
    """A stage that remembers: its stores, the first of which names it, and its operator.

    What the operator gives goes on to the next stage.
    """

    stores: tuple[StorePlan, ...]
    make_operator: MakeOperator

    @property
    def name(self) -> str:
        """Under which its stream time is kept; unique within a pipeline."""
        return self.stores[0].name


Step = Callable[[Events, BatchContext], Events] | Stateful
"""A stage of a branch: filter, map and the like, or one with state."""


@dataclass(frozen=True)
class Sink:
    """A topic that a branch ends in.

    Records go to the partition of their key, or with ``aligned`` to the one they come from:
    windows stay where their key is. Only what is no table ``takes_empty_keys``.
    """

    topic: str
    aligned: bool = False
    takes_empty_keys: bool = False


@dataclass(frozen=True)
class Branch:
    """From the sources through stages into a store or a topic."""

    topics: frozenset[str]
    steps: tuple[Step, ...]
    sink: Sink | None = None

    @property
    def name(self) -> str:
        """What the branch ends in; unique within a pipeline."""
        if self.sink is not None:
            return f"to {self.sink.topic}"
        return self.stores[-1].name

    @property
    def stores(self) -> tuple[StorePlan, ...]:
        """Those of all its stages."""
        return tuple(store for stage in self.stages for store in stage.stores)

    @property
    def stages(self) -> tuple[Stateful, ...]:
        """Those of its steps that remember."""
        return tuple(step for step in self.steps if isinstance(step, Stateful))

    @property
    def tables(self) -> frozenset[str]:
        """The topics it joins with."""
        return frozenset(
            store.changelog for store in self.stores if store.follows and store.changelog
        )


@dataclass(frozen=True)
class TaskPlan:
    """Everything the tasks of one part share; ``partitions`` is how many each source has.

    ``transforms`` are streams that Spark makes of the sources, by the names they go under.
    """

    application_id: str
    connection: Connection
    partitions: int
    sources: Mapping[str, SourcePlan]
    branches: tuple[Branch, ...]
    quarantine_topic: str
    state_dir: Path
    sink_keyspaces: Mapping[str, Keyspace] = field(default_factory=dict)
    transforms: Mapping[str, SourcePlan] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The consumer group whose positions say where the tasks go on."""
        return pipeline_group(self.application_id)

    @property
    def wants_headers(self) -> bool:
        """Whether any stage looks at headers: they are read only then."""
        steps = [step for branch in self.branches for step in branch.steps]
        return any(isinstance(step, WithHeaders) for step in steps)

    @property
    def only_source(self) -> str | None:
        """The topic that every record is from, if there is just one and nothing made of it."""
        (first, *more) = [*self.sources, *self.transforms]
        return None if more else first

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
    def places(self) -> list[TopicPartition]:
        """Every partition of every source."""
        return [TopicPartition(topic, p) for topic in self.sources for p in range(self.partitions)]

    @property
    def changelogs(self) -> dict[str, str]:
        """Store -> changelog, of the stores that are backed up."""
        return {
            store.name: store.changelog
            for store in self._stores
            if store.changelog is not None and not store.follows
        }

    @property
    def tables(self) -> dict[str, str]:
        """Store -> topic, of the stores that follow a table."""
        return {
            store.name: store.changelog
            for store in self._stores
            if store.changelog is not None and store.follows
        }

    @property
    def _stores(self) -> list[StorePlan]:
        return [store for branch in self.branches for store in branch.stores]

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


class PositionNote(msgspec.Struct, frozen=True):
    """What is committed beside a source position: all that a successor needs to go on.

    ``changelogs`` are the next offsets of the changelogs that reflect exactly this position, by
    store; ``stream_times`` the largest timestamps seen, by stage with state.
    """

    stream_times: dict[str, int]
    changelogs: dict[str, int]


def encode_note(note: PositionNote) -> str:
    """As the text of an offset commit."""
    return msgspec.json.encode(note).decode()


def decode_note(text: str) -> PositionNote | None:
    """The note; None for a text that no pipeline wrote beside a position."""
    try:
        return msgspec.json.decode(text, type=PositionNote)
    except msgspec.DecodeError:
        return None


def join_notes(texts: Iterable[str]) -> PositionNote:
    """What the notes of one partition of all sources say together; other texts say nothing.

    Each commit writes the same note to every source it moves. A source that was quiet, or was
    not part of the pipeline then, has an older one. Both kinds of numbers only grow.
    """
    stream_times: dict[str, int] = {}
    changelogs: dict[str, int] = {}
    for note in filter(None, map(decode_note, texts)):
        for known, found in ((stream_times, note.stream_times), (changelogs, note.changelogs)):
            for name, number in found.items():
                known[name] = max(number, known.get(name, number))
    return PositionNote(stream_times, changelogs)
