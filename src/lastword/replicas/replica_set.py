"""The partitions of one topic that are held here: the set that readers, writers and watchers see.

Every read goes through ``at`` (one partition) or ``one_moment`` (several as of one moment). The set
gains and loses partitions while the others are served.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from lastword.errors import ConfigError, ConnectionFailedError, NotUpToPositionError
from lastword.records import Position
from lastword.replicas.held import HeldReplicas, OneMoment
from lastword.replicas.partition_views import freshness_of, position_of
from lastword.replicas.progress import RestoreProgress
from lastword.replicas.replica import Replica
from lastword.replicas.sweep.soundness import Freshness
from lastword.replicas.tail.following import Following
from lastword.replicas.topic.protection import ProtectionLog
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.topic.troubles import Troubles
from lastword.replicas.watch.feed import Feed, Subscription
from lastword.stores.base import Store

TAKE_ON_S = 60.0
"""How long the tailing thread may be busy before gaining or losing a partition is given up."""


class PartitionStores(Protocol):
    """Where the stores come from and go to."""

    def open(self, partition: int) -> Store:
        """The open store of a partition, locked for this process; raises StoreError."""

    def close(self, partition: int, store: Store) -> None:
        """Close the store, which ends open scans of it, and release the lock; idempotent."""


class ReplicaSet:
    """The replicas held now. Safe to use from any thread.

    ``held`` is replaced and never changed, so a reader that has it in hand needs no lock.
    """

    def __init__(
        self,
        following: Following,
        stores: PartitionStores,
        make: Callable[[int, Store], Replica],
        opened: Mapping[int, Store],
    ) -> None:
        self.topic = following.topic
        self._following = following
        self._replicas: HeldReplicas = following.held
        self.at = self._replicas.at
        """The replica of one partition; raises PartitionNotHereError. On the path of every read."""
        self._stores = stores
        self._make = make
        self._changing = threading.Lock()
        for partition, store in opened.items():
            self._replicas.add(make(partition, store))

    # -- life ------------------------------------------------------------------------------

    def start(self) -> None:
        """Read the topic's state, begin every replica, and follow in the background."""
        self._following.start()

    def close(self) -> None:
        """Stop following and close the stores; idempotent."""
        self._following.stop()
        with self._changing:
            for partition, replica in self.held.items():
                self._stores.close(partition, replica.store)

    def gain(self, partition: int) -> Replica:
        """Hold one more partition: open its store and begin to restore it.

        It is in ``held`` when this returns, and ready some time later. Raises StoreLockedError
        while another process has its directory, and ConnectionFailedError when its leader is
        silent. Does nothing for a partition that is here already.
        """
        with self._changing:
            if partition in self._replicas.now:
                return self._replicas.now[partition]
            self._refuse_unknown(partition)
            # Ask again: records acknowledged before this call are read before it is ready.
            if partition in self._following.refresh().unanswered:
                raise ConnectionFailedError(
                    f"the leader of partition {partition} of {self.topic} does not answer",
                    hint="is its broker running?",
                )
            store = self._stores.open(partition)
            try:
                replica = self._make(partition, store)
                self._following.gain(replica, TAKE_ON_S)
            except BaseException:
                self._stores.close(partition, store)
                raise
            return replica

    def lose(self, partition: int) -> None:
        """Drop a partition: stop following it and close its store.

        Reads, scans and waits in progress end with PartitionNotHereError; watches end too.
        Raises PartitionNotHereError when it is not here.
        """
        with self._changing:
            replica = self.at(partition)
            self._following.lose(replica, TAKE_ON_S)
            with replica.preparing:  # it gives up between two chunks
                self._stores.close(partition, replica.store)

    def _refuse_unknown(self, partition: int) -> None:
        if not 0 <= partition < self.topic_state.partitions:
            raise ConfigError(
                f"{self.topic} has no partition {partition}",
                hint=f"it has {self.topic_state.partitions}, counted from 0",
            )

    # -- what is here ----------------------------------------------------------------------

    @property
    def held(self) -> Mapping[int, Replica]:
        """What is here now, by partition, in their order."""
        return self._replicas.now

    @property
    def feed(self) -> Feed:
        """The applied changes, for watchers; ``subscribe`` joins it."""
        return self._replicas.feed

    @property
    def troubles(self) -> Troubles:
        """Why partitions are not followed at the moment."""
        return self._following.troubles

    @property
    def protection(self) -> ProtectionLog:
        """The observed protection of the topic from compaction."""
        return self._following.monitor.protection

    @property
    def topic_state(self) -> TopicState:
        """The last known state of the topic."""
        return self._following.topic_state

    def one_moment(self, partitions: Collection[int] | None = None) -> OneMoment:
        """A context in which nothing is applied to these replicas, all of those held by default.

        ``with replicas.one_moment() as seen:`` gives them by partition. Nothing of them is
        published meanwhile either. Leave it quickly: the log waits. Entering it raises
        PartitionNotHereError.
        """
        return self._replicas.one_moment(partitions)

    def position(self, partitions: Collection[int] | None = None) -> Position:
        """What reads of these partitions, all by default, reflect now."""
        return position_of(self._replicas.chosen(partitions), self.topic_state.topic_id)

    def freshness(self, partitions: Collection[int] | None = None) -> Freshness:
        """How current a read of these partitions, all by default, is: as old as the oldest."""
        return freshness_of(self._replicas.chosen(partitions).values())

    def progress(self) -> list[RestoreProgress]:
        """How far each replica has come on its way to the captured end."""
        blocked = self._following.is_blocked
        return [replica.progress(blocked=blocked(p)) for p, replica in self.held.items()]

    def lag(self) -> dict[int, int]:
        """Offsets between what was read and the last known end of the log."""
        ends = self.topic_state.ends
        return {
            p: max(0, ends.get(p, 0) - replica.follower.offsets.next_offset)
            for p, replica in self.held.items()
        }

    def wait_for(self, position: Position, timeout_s: float) -> None:
        """Wait until reads reflect ``position``.

        Raises NotUpToPositionError after the timeout, and PartitionNotHereError when it names a
        partition that is not here or leaves meanwhile.
        """
        wanted = position.offsets

        def reached() -> bool:
            return all(self.at(p).position >= offset for p, offset in wanted.items())

        self._replicas.wait(lambda: self._following.ended or reached(), timeout_s)
        if not reached():
            now = self.position(wanted)
            raise NotUpToPositionError(
                f"{self.topic} is at {now}, not yet at {position}",
                reached=now.offsets,
                hint="try again in a moment, or ask with a longer timeout",
            )

    def subscribe(self) -> Subscription:
        """Everything that is published from ``Subscription.position`` on.

        That position has the partitions that are ready; a PartitionGained announces others.
        """
        with self.one_moment() as replicas:
            ready = {p: replica for p, replica in replicas.items() if replica.ready}
            position = position_of(ready, self.topic_state.topic_id)
            subscription = Subscription(self.feed, position)
            self.feed.join(subscription)
        return subscription
