"""Decides which members to evict from the group. A suspicion has no other effect.

The group remains the only source of truth about membership. A member that was evicted although it
is alive rejoins within a second.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import NamedTuple

from lastword.cluster.peers.peer import Health

SILENT_S = 1.0
"""A watched member is pinged every 100 ms; after this long without a message it is suspect."""
UNHEARD_S = 1.0
"""A member that stays suspect for this long although the group keeps it is reported to the leader.

It reaches the group, so it rejoins after each eviction, but its peers cannot use it."""
STALLED_S = 0.5
"""A longer gap between two checks means that this process was frozen, not the others."""
TURN_S = 0.5
"""How long each member waits for the one before it to evict a deaf leader."""
EVICTIONS_APART_S = (5.0, 60.0)
"""The time between two evictions of a member doubles from the first to the second of these.

So an instance that fails again soon is replaced soon, and a slow but live one is evicted rarely.
A leader is evicted after the first of these, however often it was evicted before: nobody else can
drain it, and once evicted it leads no longer.
"""


class Standing(NamedTuple):
    """The members of the last plan, as this instance knows them. ``leads``: it is the leader."""

    me: str
    leader: str
    leads: bool
    members: Collection[str]


def watched_by(standing: Standing) -> frozenset[str]:
    """The members that this instance pings.

    The leader watches all members. Each other member watches the leader and the members that
    come before it, so that the first live one evicts a dead leader.
    """
    others = {name for name in standing.members if name != standing.me}
    if standing.leads:
        return frozenset(others)
    return frozenset(name for name in others if name < standing.me or name == standing.leader)


class Detector:
    """Finds dead and silent members from the health of their connections. Not thread-safe."""

    def __init__(self) -> None:
        self._looked_at: float | None = None
        self._forgiven_until = 0.0
        self._suspect_since: dict[str, float] = {}
        self._deaf_since: dict[str, float] = {}
        self._due_at: dict[str, float] = {}
        self._due_as_leader_at: dict[str, float] = {}
        self._pause_s: dict[str, float] = {}

    def suspects(self, now: float, watched: Mapping[str, Health]) -> set[str]:
        """The members that are dead (nobody listens there) or have been silent for too long."""
        if self._looked_at is not None and now - self._looked_at > STALLED_S:
            # Messages that arrived while this process was frozen have not been read yet.
            self._forgiven_until = now
        self._looked_at = now
        found = {
            name
            for name, health in watched.items()
            if health.refused or now - max(health.heard_at, self._forgiven_until) > SILENT_S
        }
        since = self._suspect_since
        self._suspect_since = {name: since.get(name, now) for name in found}
        return found

    def unheard(self, now: float) -> frozenset[str]:
        """The members that have been suspect for ``UNHEARD_S`` without a break."""
        since = self._suspect_since.items()
        return frozenset(name for name, began in since if now - began >= UNHEARD_S)

    def to_evict(
        self,
        now: float,
        suspects: Collection[str],
        standing: Standing,
        deaf: Collection[str] = (),
    ) -> list[str]:
        """The suspects that this instance has to evict, each after its pause.

        The leader drains members that are ``deaf``: no broker answers them. The others evict a deaf
        leader, in turns: each of them may have lost its brokers shortly before, and not be sure.
        """
        since = self._deaf_since
        self._deaf_since = {name: since.get(name, now) for name in deaf}
        if standing.leads:
            mine = set(suspects) - {standing.me}
        else:
            before = {name for name in standing.members if name < standing.me} - {standing.leader}
            turn_at = self._deaf_since.get(standing.leader, inf) + TURN_S * len(before)
            mine = {standing.leader} if now >= turn_at else set()
            if before <= set(suspects):
                mine |= {standing.leader} & set(suspects)
        due_at = self._due_at if standing.leads else self._due_as_leader_at
        return sorted(name for name in mine if now >= due_at.get(name, now))

    def evicted(self, now: float, name: str, *, led: bool = False) -> None:
        """Record that the member was evicted; ``led``: it was the leader."""
        first_s, longest_s = EVICTIONS_APART_S
        if led or now >= self._due_at.get(name, now) + longest_s:
            self._pause_s.pop(name, None)  # the others do without it, or it has been well for long
        pause_s = min(longest_s, 2 * self._pause_s.get(name, first_s / 2))
        self._pause_s[name], self._due_at[name] = pause_s, now + pause_s
        self._due_as_leader_at[name] = now + first_s

    def not_found(self, now: float, name: str) -> None:
        """Record that the group lacks the member, or has it at another address."""
        self._due_at[name] = self._due_as_leader_at[name] = now + SILENT_S
