"""The replicas that are here now, and how to see several of them as of one moment.

Locks are taken in one order: the membership of the set, then replicas by partition. Applying a
batch takes the lock of one replica only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from types import TracebackType

from lastword.replicas.replica import Replica, not_here
from lastword.replicas.watch.feed import Feed, FeedItem, PartitionGained, PartitionLost

Replicas = Mapping[int, Replica]


class HeldReplicas:
    """The replicas of one topic, and the feed of changes of those that are ready.

    ``now`` is replaced and never changed, so reading it needs no lock.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.feed = Feed()
        self.now: Replicas = {}
        self._membership = threading.Lock()
        self._moved = threading.Condition()

    def at(self, partition: int) -> Replica:
        """The replica of one partition; raises PartitionNotHereError."""
        replica = self.now.get(partition)
        if replica is None:
            raise not_here(self.topic, partition)
        return replica

    def chosen(self, partitions: Collection[int] | None) -> Replicas:
        """Those of these partitions in their order, all of them by default."""
        return self.now if partitions is None else {p: self.at(p) for p in sorted(partitions)}

    def followed(self) -> list[Replica]:
        """Those whose log is being read: the tailing thread may touch their followers."""
        return [replica for replica in self.now.values() if replica.following]

    def publish(self, item: FeedItem) -> None:
        """Publish a change of a replica, with its lock held."""
        if len(self.feed):
            ready = (each.complete_at_ms for each in self.now.values() if each.ready)
            self.feed.publish(item, min(ready, default=0))

    def one_moment(self, partitions: Collection[int] | None = None) -> OneMoment:
        """These replicas, all by default, while nothing is applied to and published of them."""
        if partitions is None:
            return OneMoment(lambda: self.now, self._membership)
        return OneMoment(lambda: self.chosen(partitions), None)

    def add(self, replica: Replica) -> None:
        """Add a replica; it is not ready yet."""
        with self._membership:
            self.now = dict(sorted({**self.now, replica.partition: replica}.items()))

    def remove(self, replica: Replica) -> None:
        """Remove it, and announce that to watchers."""
        with self._membership, replica.lock:
            was_ready, replica.ready, replica.lost = replica.ready, False, True
            self.now = {p: each for p, each in self.now.items() if each is not replica}
            if was_ready:
                self.publish(PartitionLost(replica.partition, replica.position))

    def make_ready(self, replica: Replica) -> None:
        """Let a replica serve reads, and publish its changes from now on."""
        with replica.lock:
            replica.ready, replica.gained = True, False
            self.publish(PartitionGained(replica.partition, replica.position))

    # -- waiting ---------------------------------------------------------------------------

    def moved(self) -> None:
        """Notified when a batch is applied, or a partition is gained or lost."""
        with self._moved:
            self._moved.notify_all()

    def wait(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until ``done``, which is called after each change."""
        with self._moved:
            return self._moved.wait_for(done, timeout_s)


class OneMoment:
    """Holds the locks of replicas from ``__enter__``, which returns them, to ``__exit__``."""

    __slots__ = ("_choose", "_membership", "_taken")

    def __init__(self, choose: Callable[[], Replicas], membership: threading.Lock | None) -> None:
        self._choose = choose
        self._membership = membership
        self._taken: list[threading.Lock] = []

    def __enter__(self) -> Replicas:
        """Raises PartitionNotHereError."""
        try:
            if self._membership is not None:
                self._take(self._membership)
            replicas = self._choose()
            for replica in replicas.values():
                self._take(replica.lock)
                if replica.lost:
                    raise not_here(replica.topic, replica.partition)
        except BaseException:
            self._release()
            raise
        return replicas

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    def _take(self, lock: threading.Lock) -> None:
        lock.acquire()
        self._taken.append(lock)

    def _release(self) -> None:
        for lock in reversed(self._taken):
            lock.release()
        self._taken = []
