"""The records of one source partition in a task, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Events:
    """Decoded values with raw keys, in processing order; all columns have the same length.

    ``headers`` is empty unless a node reads them. ``inputs`` has the input over which a node
    received each event; it is empty if the node has only one.
    """

    topics: Sequence[str]
    keys: list[bytes | None]
    values: list[Any]
    timestamps: list[int]
    offsets: Sequence[int]
    headers: Sequence[Mapping[str, bytes | None]] = ()
    inputs: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def none(cls) -> Events:
        """No events: the output of an operator that only updates its stores."""
        return cls([], [], [], [], [])

    @classmethod
    def joined(cls, parts: Sequence[Events]) -> Events:
        """The parts, one after the other."""
        return cls(
            [topic for part in parts for topic in part.topics],
            [key for part in parts for key in part.keys],
            [value for part in parts for value in part.values],
            [at_ms for part in parts for at_ms in part.timestamps],
            [offset for part in parts for offset in part.offsets],
            [headers for part in parts for headers in part.headers],
            [n for part in parts for n in part.inputs],
        )

    def take(self, indexes: Sequence[int]) -> Events:
        """Only the records at ``indexes``."""
        return Events(
            [self.topics[i] for i in indexes],
            [self.keys[i] for i in indexes],
            [self.values[i] for i in indexes],
            [self.timestamps[i] for i in indexes],
            [self.offsets[i] for i in indexes],
            [self.headers[i] for i in indexes] if self.headers else (),
            [self.inputs[i] for i in indexes] if self.inputs else (),
        )


@dataclass(frozen=True, slots=True)
class BadEvent:
    """A record that could not be processed, and the reason; goes to the quarantine topic."""

    topic: str
    offset: int
    key: bytes | None
    reason: str


@dataclass(slots=True)
class Tally:
    """What a task did with one partition in a batch; the driver adds them up.

    ``late`` counts the windows that late records missed. ``final`` counts windows that closed and
    were emitted, ``held_back`` the suppressed windows that are still open after the batch.
    ``evicted`` counts keys dropped by a store of fixed capacity.
    """

    records: int = 0
    skipped: int = 0
    keyless: int = 0
    null_values: int = 0
    late: int = 0
    duplicates: int = 0
    unmatched: int = 0
    quarantined: int = 0
    updates: int = 0
    final: int = 0
    held_back: int = 0
    evicted: int = 0
    restored: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of ``other``."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
