"""The topics that this instance offers to own, and who is told what a plan says about them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lastword.cluster.leadership import Report
from lastword.cluster.plan import Assignment, Plan

log = logging.getLogger(__name__)

OnPlan = Callable[[Mapping[int, Assignment]], None]
LagsNow = Callable[[], Mapping[int, int]]


class _Offer(NamedTuple):
    partitions: int
    on_plan: OnPlan
    lags: LagsNow


class Offers:
    """Every offer of this instance; safe from any thread. Calls of ``on_plan`` never overlap."""

    def __init__(self, instance_id: str, *, guest: bool = False) -> None:
        self.address = ""
        self._guest = guest
        self._me = instance_id
        self._offers: dict[str, _Offer] = {}
        self._plan: Plan | None = None
        self._ended = False
        self._lock = threading.RLock()

    def add(self, topic: str, partitions: int, on_plan: OnPlan, lags: LagsNow) -> None:
        """Offer the topic; ``on_plan`` is called at once if a plan is known."""
        with self._lock:
            self._offers[topic] = _Offer(partitions, on_plan, lags)
            if self._plan is not None:
                self._tell(topic, self._plan)

    def withdraw(self, topic: str) -> None:
        """Offer the topic no more; ``on_plan`` is not called afterwards."""
        with self._lock:
            self._offers.pop(topic, None)

    def take(self, plan: Plan) -> None:
        """Tell everybody what the plan says."""
        with self._lock:
            self._plan = plan
            for topic in list(self._offers):
                self._tell(topic, plan)

    def end(self) -> None:
        """This instance is not a member any more, for good: it owns nothing."""
        with self._lock:
            self._ended = True
            self.take(self._plan or Plan(0, leader=""))

    def abandon(self) -> None:
        """This process is a fork of the member, and owns nothing; nobody is told."""
        self._ended = True
        self._lock = threading.RLock()

    def report(self) -> Report:
        """What the leader is told."""
        with self._lock:
            offers = dict(self._offers)
        return Report(
            offers={topic: offer.partitions for topic, offer in offers.items()},
            lags={topic: dict(offer.lags()) for topic, offer in offers.items()},
            guest=self._guest,
        )

    def assignment(self, plan: Plan, topic: str, partition: int) -> Assignment | None:
        """What the plan says about one partition, seen from here.

        An earlier life of this instance at another address is not this process: the leader names
        it anew as soon as it has seen it.
        """
        owner = plan.owner(topic, partition)
        if owner is None:
            return None
        here = not self._ended and owner[:2] == (self._me, self.address)
        return Assignment(owner._replace(here=here))

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
            # The other topics of this instance, and its part in the cluster, go on.
            log.exception("plan %d could not be taken over by %s", plan.number, topic)
