"""The partitions of one topic that are held here: the set that readers, writers and watchers see.

Every read goes through ``at`` (one partition) or ``one_moment`` (several as of one moment).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from lastword.records import Position
from lastword.replicas.partition_views import currency_of, position_of
from lastword.replicas.progress import RestoreProgress
from lastword.replicas.replica import Replica, not_here
from lastword.replicas.sweep.soundness import Currency
from lastword.replicas.tailer import Tailer
from lastword.replicas.topic.protection import ProtectionLog
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.topic.troubles import Troubles
from lastword.replicas.watch.feed import Feed, Subscription


class ReplicaSet:
    """The replicas held now. Safe to use from any thread.

    ``held`` is replaced and never changed, so a reader that has it in hand needs no lock.
    """

    def __init__(self, tailer: Tailer) -> None:
        self.topic = tailer.topic
        self.feed: Feed = tailer.feed
        self.troubles: Troubles = tailer.troubles
        self.looks: ProtectionLog = tailer.looks
        self._tailer = tailer
        self._held: Mapping[int, Replica] = {
            p: Replica(tailer.topic, follower, tailer.lock, lambda: tailer.ready)
            for p, follower in tailer.followers.items()
        }

    @property
    def held(self) -> Mapping[int, Replica]:
        """What is here now, by partition, in their order."""
        return self._held

    @property
    def topic_state(self) -> TopicState:
        """The last look at the topic."""
        return self._tailer.topic_state

    def at(self, partition: int) -> Replica:
        """The replica of one partition; raises PartitionNotHereError."""
        replica = self._held.get(partition)
        if replica is None:
            raise not_here(self.topic, partition)
        return replica

    @contextmanager
    def one_moment(
        self, partitions: Collection[int] | None = None
    ) -> Iterator[Mapping[int, Replica]]:
        """These replicas, all of those held by default, while nothing is applied to any of them.

        Nothing of them is published meanwhile either. Return quickly: the log waits. Raises
        PartitionNotHereError.
        """
        with self._tailer.lock:
            yield self._chosen(partitions)

    def position(self, partitions: Collection[int] | None = None) -> Position:
        """What reads of these partitions, all by default, reflect now."""
        return position_of(self._chosen(partitions), self.topic_state.topic_id)

    def currency(self, partitions: Collection[int] | None = None) -> Currency:
        """How current a read of these partitions, all by default, is: as old as the oldest."""
        return currency_of(self._chosen(partitions).values())

    def progress(self) -> list[RestoreProgress]:
        """How far each replica has come on its way to the captured end."""
        return self._tailer.progress()

    def lag(self) -> dict[int, int]:
        """Offsets between what was read and the end of the log at the last look."""
        return self._tailer.lag()

    def wait_for(self, position: Position, timeout_s: float) -> None:
        """Wait until reads reflect ``position``.

        Raises NotUpToPositionError after the timeout, and PartitionNotHereError when it names a
        partition that is not here or leaves meanwhile.
        """
        self._chosen(position.offsets)
        self._tailer.wait_for(position, timeout_s)

    def subscribe(self) -> Subscription:
        """Everything that is applied from ``Subscription.position`` on."""
        with self.one_moment() as replicas:
            subscription = Subscription(self.feed, position_of(replicas, self.topic_state.topic_id))
            self.feed.join(subscription)
        return subscription

    def _chosen(self, partitions: Collection[int] | None) -> Mapping[int, Replica]:
        if partitions is None:
            return self._held
        return {p: self.at(p) for p in sorted(partitions)}
