"""Watches the other members, and evicts from the group those that are gone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from lastword.clock import Clock
from lastword.cluster.detector import Detector, Standing, watched_by
from lastword.cluster.hearing import Hearing
from lastword.cluster.peers.peer import Health
from lastword.cluster.plan import Plan

log = logging.getLogger(__name__)


class Lookout:
    """The members as this instance knows them: from the last plan, or as leader from the group.

    Safe from any thread. ``judge`` runs on the peers' event loop and does not block; ``evict_due``
    makes requests to Kafka.
    """

    def __init__(
        self, instance_id: str, hearing: Hearing, *, alarm: Callable[[], None], clock: Clock
    ) -> None:
        self._me = instance_id
        self.hearing = hearing
        self._alarm = alarm
        self._clock = clock
        self._lock = threading.Lock()
        self._detector = Detector()
        self._plan: Plan | None = None
        self._led: Mapping[str, str] | None = None
        self._due: list[str] = []
        self._deaf: set[str] = set()
        self.unheard: frozenset[str] = frozenset()
        """The members that have been silent for long; this instance reports them to the leader."""

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each member's peer endpoint; none of a member that restarts."""
        planned = {} if self._plan is None else self._plan.members
        known = {
            name: member.address for name, member in planned.items() if not member.away_until_ms
        }
        return dict(known if self._led is None else self._led)

    @property
    def watched(self) -> frozenset[str]:
        """The members that this instance pings."""
        return watched_by(self._standing())

    def is_deaf(self) -> bool:
        """Whether no broker answers this instance."""
        return self.hearing.deaf

    def take_plan(self, plan: Plan) -> None:
        """Take the members and the leader from a plan."""
        self._plan = plan

    def take_view(self, addresses: Mapping[str, str] | None) -> None:
        """Take the members from the group while this instance leads; None when it does not."""
        self._led = addresses

    def judge(self, now: float, watched: Mapping[str, Health]) -> None:
        """Raise the alarm if this instance has to evict a member."""
        self.hearing.look()
        say_deaf = {name for name, health in watched.items() if health.deaf}
        deaf = {name for name in say_deaf if self.hearing.believes(name)}
        with self._lock:
            suspects = self._detector.suspects(now, watched)
            self.hearing.note_well(watched.keys() - suspects - say_deaf)
            self._due = self._detector.to_evict(now, suspects, self._standing(), deaf)
            self._deaf = deaf - suspects
            self.unheard = self._detector.unheard(now)
        if self._due:
            self._alarm()

    def evict_due(self, evict: Callable[[str, str], bool]) -> int:
        """Evict the suspects with ``evict(instance id, address)``; returns how many."""
        evicted = 0
        for name in self._due:
            address = self.addresses.get(name, "")
            found = evict(name, address)
            evicted += found
            self._note_eviction(name, found=found)
            if found:
                why = "no broker answers it" if name in self._deaf else "it does not answer"
                log.warning("evicted %s at %s: %s", name, address, why)
        self._due = []
        return evicted

    def _note_eviction(self, name: str, *, found: bool) -> None:
        now = self._clock.monotonic()
        with self._lock:
            if found:
                self._detector.evicted(now, name, led=name == self._standing().leader)
            else:
                self._detector.not_found(now, name)

    def _standing(self) -> Standing:
        leader = "" if self._plan is None else self._plan.leader
        return Standing(self._me, leader, self._led is not None, self.addresses.keys())
