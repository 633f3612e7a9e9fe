"""Measures how old each local copy is: no clocks of two machines are compared.

Every 200 ms the end of each partition is looked up. When the copy has applied everything below that
end, it is as fresh as the moment just before the lookup: everything acknowledged before that moment
is in the copy. If the brokers do not answer, the age grows.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict, deque

from lastword.clock import Clock
from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.replicas.replica import Replica
from lastword.replicas.replica_set import ReplicaSet

log = logging.getLogger(__name__)

LOOK_S = 0.2
_PENDING_MAX = 64


class FreshAsOf:
    """The age of the copies held here. Safe to use from any thread."""

    def __init__(self, replicas: ReplicaSet, admin: Admin, clock: Clock) -> None:
        self._replicas, self._admin, self._clock = replicas, admin, clock
        self._lock = threading.Lock()
        self._looks: dict[int, deque[tuple[float, int]]] = defaultdict(
            lambda: deque(maxlen=_PENDING_MAX)
        )
        self._fresh: dict[int, tuple[Replica, float]] = {}
        self._ends: dict[int, int] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"fresh-{replicas.topic}", daemon=True
        )

    def start(self) -> None:
        """Start measuring; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Stop measuring; idempotent."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    def fresh_at(self, replica: Replica) -> float:
        """The moment (monotonic) of which everything acknowledged before is in the copy now.

        Ask before the copy is read, and compare with the time after that: it may be fresher once
        it was read, and the process may have been frozen meanwhile.
        """
        partition = replica.partition
        with self._lock:
            looks = self._looks[partition]
            while looks and complete_up_to(replica) >= looks[0][1]:
                self._fresh[partition] = replica, looks.popleft()[0]
            measured, fresh_at = self._fresh.get(partition, (None, 0.0))
        if measured is replica:
            return fresh_at
        # Not measured since it was restored: the captured end of the restore bounds its age.
        age_s = max(0, self._clock.now_ms() - replica.at_end_ms) / 1000
        return self._clock.monotonic() - age_s

    def oldest_age_s(self) -> float:
        """The age of the oldest copy that is ready here."""
        ready = [replica for replica in self._replicas.held.values() if replica.ready]
        now = self._clock.monotonic()
        return max((now - self.fresh_at(replica) for replica in ready), default=0.0)

    def lag(self, partition: int, offset: int) -> int:
        """How many offsets what was read up to there is behind the last end that was looked up."""
        return max(0, self._ends.get(partition, offset) - offset)

    def look(self) -> None:
        """Look up the ends of the partitions held; raises ConnectionFailedError."""
        held = list(self._replicas.held)
        if not held:
            return
        at = self._clock.monotonic()
        bounds = self._admin.bounds_answered(self._replicas.topic, held)
        with self._lock:
            for partition, found in bounds.items():
                self._ends[partition] = found.end
                looks = self._looks[partition]
                if len(looks) < _PENDING_MAX:  # the oldest are the next to be reached
                    looks.append((at, found.end))
        for replica in self._replicas.held.values():
            self.fresh_at(replica)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_S):
            try:
                self.look()
            except LastwordError as error:
                log.debug("%s: the ends could not be looked up: %s", self._replicas.topic, error)


def complete_up_to(replica: Replica) -> int:
    """The offset below which the copy has everything, the ends of transactions included."""
    offsets = replica.follower.offsets
    if replica.live and offsets.position == offsets.next_offset:
        return max(offsets.position, offsets.read_up_to)
    return offsets.position
