"""What is true of several partitions together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lastword.records import Position
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.sweep.soundness import Currency


def position_of(followers: Mapping[int, PartitionFollower]) -> Position:
    """What reads from these partitions reflect now."""
    # Asked for before the offsets, which may be newer than this, never older.
    complete_at_ms = min(follower.complete_at_ms for follower in followers.values())
    topic_id = next(iter(followers.values())).topic_id
    offsets = {p: follower.position for p, follower in followers.items()}
    return Position(offsets, topic_id, complete_at_ms)


def currency_of(followers: Iterable[PartitionFollower]) -> Currency:
    """That of a read from several partitions: as old as the oldest."""
    each = [follower.currency for follower in followers]
    return Currency(any(c.stale for c in each), max(c.contact_age_s for c in each))
