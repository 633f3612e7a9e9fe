"""Decides which members are evicted from the group: suspicion does nothing else.

The group stays the one truth about who is a member. A member that is evicted although it lives
joins again within a second.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from lastword.cluster.peers.peer import Health

SILENT_S = 1.0
"""A member that has sent nothing for so long is suspect; it is pinged every 100 ms."""
STALLED_S = 0.5
"""Between two looks at the members: then it is this process that was frozen, not the others."""
EVICTIONS_APART_S = 60.0
"""Between two evictions of one member: one that is slow, but alive, is evicted once a minute."""


class Standing(NamedTuple):
    """The members by the last plan, as this instance knows them. ``leads``: this one is leader."""

    me: str
    leader: str
    leads: bool
    members: Collection[str]


def watched_by(standing: Standing) -> frozenset[str]:
    """The members that this one has to ping.

    The leader watches everybody. The others watch the leader, and those that come before them: the
    first of them that lives evicts a leader that does not.
    """
    others = {name for name in standing.members if name != standing.me}
    if standing.leads:
        return frozenset(others)
    return frozenset(name for name in others if name < standing.me or name == standing.leader)


class Detector:
    """Judges members by what is known of their connections. Not safe across threads."""

    def __init__(self) -> None:
        self._looked_at: float | None = None
        self._forgiven_until = 0.0
        self._due_at: dict[str, float] = {}

    def suspects(self, now: float, watched: Mapping[str, Health]) -> set[str]:
        """The members that are dead (nobody listens there) or have been silent for too long."""
        if self._looked_at is not None and now - self._looked_at > STALLED_S:
            # What they sent while this process stood still has not been read yet.
            self._forgiven_until = now
        self._looked_at = now
        return {
            name
            for name, health in watched.items()
            if health.refused or now - max(health.heard_at, self._forgiven_until) > SILENT_S
        }

    def to_evict(self, now: float, suspects: Collection[str], standing: Standing) -> list[str]:
        """The suspects that it falls to this instance to evict, each at most once a minute."""
        if standing.leads:
            mine = set(suspects) - {standing.me}
        else:
            before = {name for name in standing.members if name < standing.me}
            first = before - {standing.leader} <= set(suspects)
            mine = {standing.leader} & set(suspects) if first else set()
        return sorted(name for name in mine if now >= self._due_at.get(name, now))

    def evicted(self, now: float, name: str) -> None:
        """Note that the member was evicted."""
        self._due_at[name] = now + EVICTIONS_APART_S

    def not_found(self, now: float, name: str) -> None:
        """Note that the group does not have the member, or has it at another address."""
        self._due_at[name] = now + SILENT_S
