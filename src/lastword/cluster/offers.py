"""The topics that this instance offers to own, and the callbacks that get each new plan."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from lastword.cluster.leadership import Report
from lastword.cluster.plan import Assignment, Owner, Plan

log = logging.getLogger(__name__)

OnPlan = Callable[[Mapping[int, Assignment]], None]
LagsNow = Callable[[], Mapping[int, int]]


class _Offer(NamedTuple):
    partitions: int
    on_plan: OnPlan
    lags: LagsNow
    standbys: int | None


class Traits(NamedTuple):
    """What a plan is to know of this instance, as PlanMember has it."""

    guest: bool = False
    rack: str = ""
    weight: int = 1
    lends: bool = False


PLAIN = Traits()


class Offers:
    """Every offer of this instance; safe from any thread. Calls of ``on_plan`` never overlap."""

    def __init__(self, instance_id: str, traits: Traits = PLAIN) -> None:
        self.address = ""
        self.draining = False
        self.service = ""
        self._traits = traits
        self._me = instance_id
        self._offers: dict[str, _Offer] = {}
        self._plan: Plan | None = None
        self._ended = False
        self._last_report: Report | None = None
        self._lock = threading.RLock()

    def add(
        self,
        topic: str,
        partitions: int,
        on_plan: OnPlan,
        lags: LagsNow,
        standbys: int | None = None,
    ) -> None:
        """Offer the topic; ``on_plan`` is called at once if a plan is known."""
        with self._lock:
            self._offers[topic] = _Offer(partitions, on_plan, lags, standbys)
            if self._plan is not None:
                self._tell(topic, self._plan)

    def withdraw(self, topic: str) -> None:
        """Withdraw the topic; ``on_plan`` is not called afterwards."""
        with self._lock:
            self._offers.pop(topic, None)

    def announce_restart(self, within_ms: int) -> None:
        """Announce to the leader that this instance restarts, with what it offers now."""
        with self._lock:
            self._last_report = msgspec.structs.replace(self.report(), away_for_ms=within_ms)

    def take(self, plan: Plan) -> None:
        """Pass the plan to every callback."""
        with self._lock:
            self._plan = plan
            for topic in list(self._offers):
                self._tell(topic, plan)

    def end(self) -> None:
        """This instance has left the group for good: it owns nothing."""
        with self._lock:
            self._ended = True
            self.take(self._plan or Plan(0, leader=""))

    def abandon(self) -> None:
        """This process is a fork of the member: it owns nothing, and no callback is called."""
        self._ended = True
        self._lock = threading.RLock()

    def report(self) -> Report:
        """The report for the leader."""
        with self._lock:
            if self._last_report is not None:
                return self._last_report
            offers = dict(self._offers)
        return Report(
            offers={topic: offer.partitions for topic, offer in offers.items()},
            lags={topic: dict(offer.lags()) for topic, offer in offers.items()},
            standbys={
                topic: offer.standbys
                for topic, offer in offers.items()
                if offer.standbys is not None
            },
            draining=self.draining,
            service=self.service,
            **self._traits._asdict(),
        )

    def assignment(self, plan: Plan, topic: str, partition: int) -> Assignment | None:
        """The plan's assignment of one partition, as seen by this instance.

        An earlier process with the same instance id, at another address, is not this process. The
        leader assigns partitions to this one once it has seen it.
        """
        owner = plan.owner(topic, partition)
        if owner is None:
            return None
        copies = plan.copies(topic, partition) if topic in plan.standbys else [owner]
        return Assignment(self._seen(owner), tuple(map(self._seen, copies)))

    def _seen(self, member: Owner) -> Owner:
        here = not self._ended and member[:2] == (self._me, self.address)
        return member._replace(here=here)

    def _tell(self, topic: str, plan: Plan) -> None:
        offer = self._offers[topic]
        said = {
            partition: assignment
            for partition in range(offer.partitions)
            if (assignment := self.assignment(plan, topic, partition)) is not None
        }
        try:
            offer.on_plan(said)
        except Exception:
            # The other topics of this instance, and its membership, continue.
            log.exception("applying plan %d to %s failed", plan.number, topic)
