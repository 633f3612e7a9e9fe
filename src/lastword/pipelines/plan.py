"""What the driver tells a task to do: plain values and the user's functions, ready to be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lastword.codecs.resolve import CodecSpec
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed, Place
from lastword.pipelines.events import Events
from lastword.pipelines.operator import Operator, Turn

Step = Callable[[Events, Turn], Events]
"""A stage without state: filter, map and the like."""

MakeOperator = Callable[[], Operator]


@dataclass(frozen=True)
class SourcePlan:
    """How the records of one topic are read; ``timestamp`` is the field that holds event time."""

    topic: str
    key: CodecSpec
    value: CodecSpec
    timestamp: Callable[[Any], int] | None = None


@dataclass(frozen=True)
class StorePlan:
    """One operator with its store and changelog. A changelog of None means it is not backed up."""

    name: str
    changelog: str | None
    make_operator: MakeOperator
    every_update: bool = False


@dataclass(frozen=True)
class Branch:
    """From the sources through stages without state into a store or a topic."""

    topics: frozenset[str]
    steps: tuple[Step, ...]
    store: StorePlan | None = None
    sink: str | None = None


@dataclass(frozen=True)
class TaskPlan:
    """Everything the tasks of one sub-topology share; ``partitions`` is that of its sources."""

    application_id: str
    connection: Connection
    partitions: int
    sources: Mapping[str, SourcePlan]
    branches: tuple[Branch, ...]
    quarantine_topic: str
    state_dir: Path
    sink_partitions: Mapping[str, int] = field(default_factory=dict)

    @property
    def note_topic(self) -> str:
        """The source whose position carries the note, whatever sources a batch has."""
        return min(self.sources)

    def transactional_id(self, partition: int) -> str:
        """Known to every driver of the application, so that a successor can end what is open."""
        return f"{self.application_id}-{'+'.join(sorted(self.sources))}-{partition}"


@dataclass(frozen=True)
class BatchOrder:
    """What only this batch has: where each source partition stands, and the driver's proof."""

    committed: Mapping[Place, Committed]
    group_metadata: bytes


class PositionNote(msgspec.Struct, frozen=True):
    """What is committed beside a source position: all that a successor needs to go on.

    ``changelogs`` are the next offsets of the changelogs that reflect exactly this position.
    """

    stream_times: dict[str, int]
    changelogs: dict[str, int]


def encode_note(note: PositionNote) -> str:
    """As the text of an offset commit."""
    return msgspec.json.encode(note).decode()


def decode_note(text: str) -> PositionNote:
    """What was committed; nothing for a position that was never committed."""
    return msgspec.json.decode(text, type=PositionNote) if text else PositionNote({}, {})
