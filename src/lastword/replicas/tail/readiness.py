"""When a replica serves reads: it has reached its captured end, and was swept where due."""

from __future__ import annotations

import logging
from collections.abc import Callable

from lastword.errors import LastwordError
from lastword.replicas.held import HeldReplicas
from lastword.replicas.hooks import Hooks
from lastword.replicas.replica import Replica
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.replicas.topic.blocked_ends import BlockedEnds
from lastword.replicas.topic.topic_state import TopicState

log = logging.getLogger(__name__)

_ALL_READY = (True, False)

HighWatermarkOf = Callable[[int], int]
"""partition -> the high watermark."""


class Readiness:
    """Takes replicas live and ready, one by one. On the tailing thread.

    The table is ready while every replica is. A replica that restarts is not; the others stay
    ready.
    """

    def __init__(
        self,
        held: HeldReplicas,
        sweeps: SweepSchedule,
        blocked: BlockedEnds,
        hooks: Hooks,
        end_of: HighWatermarkOf,
    ) -> None:
        self._held = held
        self._sweeps = sweeps
        self._blocked = blocked
        self._hooks = hooks
        self._end_of = end_of
        self._told = (False, False)

    def withdraw(self, replica: Replica) -> None:
        """Serve no reads of it until it is ready again."""
        with replica.lock:
            replica.ready = False
        self.tell()

    def check(self, topic_state: TopicState) -> None:
        """Advance the replicas that are not ready."""
        if self._told == _ALL_READY:
            return
        for replica in self._held.followed():
            if replica.ready:
                continue
            if not replica.live and replica.follower.offsets.finished:
                self._go_live(replica, topic_state)
            if replica.live and replica.partition not in self._sweeps.first_pending:
                self._make_ready(replica)
        self.tell()

    def tell(self) -> None:
        """Tell the table if the readiness of all replicas together has changed."""
        unready = [replica for replica in self._held.now.values() if not replica.ready]
        now = (not unready, bool(unready) and all(replica.gained for replica in unready))
        if now != self._told:
            self._told = now
            self._hooks.on_readiness(*now)

    def _go_live(self, replica: Replica, topic_state: TopicState) -> None:
        with replica.lock:
            replica.follower.go_live()
        self._blocked.discard(replica.partition)
        self._sweeps.consider(replica.follower, topic_state, first=True)
        if self._hooks.listener is not None:
            self._hooks.listener.on_end(replica.topic, replica.partition, replica.records)
        self._held.moved()

    def _make_ready(self, replica: Replica) -> None:
        self._hooks.on_restored(replica)
        self._confirm_end(replica)
        self._held.make_ready(replica)

    def _confirm_end(self, replica: Replica) -> None:
        """Ask once where the log ends, so that the past of its keys is complete from there on.

        Without an answer, the next topic state serves instead.
        """
        if replica.versions is None or replica.versions.coverage.gap_at_ms is None:
            return
        try:
            end = self._end_of(replica.partition)
        except LastwordError as error:
            log.info("the past of %s is not known yet: %s", replica.topic, error)
            return
        with replica.lock:
            replica.follower.confirm_end(end)
