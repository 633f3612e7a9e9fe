"""Holds exactly the partitions that the plan gives this instance, as owner or as standby."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from lastword.cluster.cluster import Cluster
from lastword.cluster.plan import Assignment
from lastword.errors import LastwordError, PartitionNotHereError
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.partitioned.fresh_as_of import FreshAsOf
from lastword.table.partitioned.routing import Routing

log = logging.getLogger(__name__)

OnPlan = Callable[[Mapping[int, Assignment]], None]

NEVER = float("-inf")
_RETRY_S = 0.5
_UNREADY_POLL_S = 0.05
_STEADY_POLL_S = 0.5


class Placement:
    """Gains and loses partitions on a thread of its own, while the others are served.

    ``on_plan`` is what else of the table follows the plan: it is called with each plan, and again
    when a partition has become ready. ``on_placed`` is called once, when everything that the first
    plan with this instance gives it is here.
    """

    def __init__(
        self,
        topic: str,
        partitions: int,
        cluster: Cluster,
        replicas: ReplicaSet,
        *,
        fresh: FreshAsOf,
        standbys: int,
        leave: Callable[[], None],
    ) -> None:
        self.cluster = cluster
        self.on_plan: OnPlan | None = None
        self.on_placed: Callable[[], None] | None = None
        self.placed = False
        self.topic = topic
        self._partitions, self._standbys = partitions, standbys
        self._replicas, self._fresh, self._leave = replicas, fresh, leave
        self._assignments: Mapping[int, Assignment] = {}
        self._owned: frozenset[int] = frozenset()
        self._served: frozenset[int] = frozenset()
        self._news = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"placement-{topic}", daemon=True)

    def open(self) -> None:
        """Offer the topic and follow the plan; returns at once."""
        self._fresh.start()
        self._thread.start()
        self.cluster.offer(
            self.topic, self._partitions, self._take_plan, self._lags, standbys=self._standbys
        )

    def close(self) -> None:
        """Withdraw the offer, stop following the plan and leave the cluster; idempotent."""
        if self._closing:
            return
        self._closing = True
        self.cluster.withdraw(self.topic)
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._fresh.close()
        self._leave()

    def assignment(self, partition: int) -> Assignment | None:
        """What the plan says about a partition; None if it names no owner."""
        return self.cluster.assignment(self.topic, partition)

    def serves(self, partition: int) -> bool:
        """Whether the partition is here and ready."""
        replica = self._replicas.held.get(partition)
        return replica is not None and replica.ready

    def may_answer_until(self, partition: int, at_least: int, routing: Routing) -> float:
        """Until when (monotonic) a read that starts now may be answered from the copy here.

        A moment of the past if it may not be answered here.
        """
        replica = self._replicas.held.get(partition)
        if replica is None or not replica.ready or replica.position < at_least:
            return NEVER
        if partition not in self._owned and routing.route:
            return NEVER
        if routing.max_lag is not None:
            return NEVER  # known only after the read: ``ReadServer`` checks it
        return self._fresh.fresh_at(replica) + routing.max_stale_s

    # -- following the plan ----------------------------------------------------------------

    def _take_plan(self, assignments: Mapping[int, Assignment]) -> None:
        self._assignments = assignments
        self._owned = frozenset(p for p, each in assignments.items() if each.owner.here)
        self._tell()  # whoever decides writes stops before its partition leaves
        self._news.set()

    def _tell(self) -> None:
        if self.on_plan is not None and not self._closing:
            self.on_plan(self._assignments)

    def _run(self) -> None:
        wait_s = _STEADY_POLL_S
        while True:
            self._news.wait(wait_s)
            self._news.clear()
            if self._closing:
                return
            try:
                wait_s = self._step()
            except LastwordError as error:
                log.warning("%s: a partition could not be placed: %s", self.topic, error)
                wait_s = _RETRY_S
            except Exception:
                log.exception("%s: a partition could not be placed", self.topic)
                wait_s = _RETRY_S

    def _step(self) -> float:
        """Lose what the plan takes away, gain what it gives; the seconds until the next look."""
        if not self.cluster.is_planned(self.topic):
            return _STEADY_POLL_S
        wanted = {p for p, each in self._assignments.items() if each.kept_here}
        for partition in sorted(self._replicas.held.keys() - wanted):
            self._lose(partition)
        for partition in sorted(wanted - self._replicas.held.keys()):
            log.info("%s: partition %d comes here", self.topic, partition)
            self._replicas.gain(partition)
        held = self._replicas.held
        served = frozenset(p for p, replica in held.items() if replica.ready)
        if served != self._served:
            self._served = served
            self._tell()
        if not self.placed and wanted == held.keys():
            self.placed = True
            if self.on_placed is not None:
                self.on_placed()
        return _STEADY_POLL_S if len(served) == len(held) else _UNREADY_POLL_S

    def _lose(self, partition: int) -> None:
        try:
            self._replicas.lose(partition)
        except PartitionNotHereError:
            return
        log.info("%s: partition %d has left", self.topic, partition)

    def _lags(self) -> dict[int, int]:
        held, lags = self._replicas.held, self._replicas.lag()
        return {p: lags[p] for p, replica in held.items() if replica.ready and p in lags}
