"""The position and freshness of several partitions together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from lastword.records import Position
from lastword.replicas.sweep.soundness import Freshness


class PartitionFigures(Protocol):
    """What a position and a freshness are made of."""

    @property
    def position(self) -> int:
        """The offset after the last record that reads reflect."""

    @property
    def complete_at_ms(self) -> int:
        """A moment at which the log held nothing beyond the position."""

    @property
    def freshness(self) -> Freshness:
        """How current a read is."""


def position_of(replicas: Mapping[int, PartitionFigures], topic_id: str) -> Position:
    """What reads from these partitions reflect now."""
    # Asked for before the offsets, which may be newer than this, never older.
    complete_at_ms = min((each.complete_at_ms for each in replicas.values()), default=0)
    return Position({p: each.position for p, each in replicas.items()}, topic_id, complete_at_ms)


def freshness_of(replicas: Iterable[PartitionFigures]) -> Freshness:
    """The freshness of a read from several partitions: as old as the oldest."""
    each = [replica.freshness for replica in replicas]
    return Freshness(any(c.stale for c in each), max((c.contact_age_s for c in each), default=0.0))
