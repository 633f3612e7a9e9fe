"""One partition's local copy as readers see it: its rows, how far it is and how current."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from lastword.errors import NotReadyError, PartitionNotHereError, StoreError
from lastword.replicas.apply.quarantine import Quarantine
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.sweep.soundness import Currency, Soundness
from lastword.replicas.versions.keeper import VersionKeeper
from lastword.replicas.versions.versioned_follower import VersionedFollower
from lastword.stores.base import Scan, Store


class Replica:
    """The copy of one partition. Safe to read from any thread.

    ``lock`` is held while a batch is applied to the store and published. To see several
    partitions as of one moment, use ``ReplicaSet.one_moment``.
    """

    def __init__(
        self, topic: str, follower: PartitionFollower, lock: Lock, is_ready: Callable[[], bool]
    ) -> None:
        self.partition = follower.partition
        self.store: Store = follower.store
        self.lock = lock
        self.lost = False
        self._topic = topic
        self._follower = follower
        self._is_ready = is_ready

    # -- rows ------------------------------------------------------------------------------

    def get(self, key: bytes) -> bytes | None:
        """The row of ``key``, or None."""
        try:
            return self.store.get(key)
        except StoreError as error:
            raise self.explained(error) from error

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``, as of one moment."""
        try:
            return self.store.get_many(keys)
        except StoreError as error:
            raise self.explained(error) from error

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> Scan:
        """Rows with ``start <= key < end`` in key order, as of this moment.

        A scan that is open when the partition leaves ends with a StoreError; ``explained`` turns
        that into a PartitionNotHereError.
        """
        try:
            return self.store.scan(start, end, reverse=reverse)
        except StoreError as error:
            raise self.explained(error) from error

    def count(self) -> int:
        """The exact number of rows."""
        try:
            return self.store.count()
        except StoreError as error:
            raise self.explained(error) from error

    # -- how far, how current --------------------------------------------------------------

    @property
    def position(self) -> int:
        """The offset after the last record that reads reflect."""
        return self._follower.position

    @property
    def complete_at_ms(self) -> int:
        """A moment at which the log held nothing beyond the position and no delete was missed."""
        return self._follower.complete_at_ms

    @property
    def at_end_ms(self) -> int:
        """The last moment of which everything that was then in the log is known to be here."""
        return self._follower.at_end_ms

    @property
    def topic_id(self) -> str:
        """Kafka's id of the topic that the rows are of."""
        return self._follower.topic_id

    @property
    def live(self) -> bool:
        """Whether the captured end was reached; a first sweep may still be under way."""
        return self._follower.live

    @property
    def currency(self) -> Currency:
        """Whether a read may be out of date, and how long ago the cluster last answered."""
        return self._follower.currency

    @property
    def unsound(self) -> bool:
        """Whether the rows may be wrong: deletes may have been missed, or are not read yet."""
        return self._follower.unsound

    @property
    def soundness(self) -> Soundness:
        """Until when this copy has certainly missed no delete."""
        return self._follower.soundness

    @property
    def quarantine(self) -> Quarantine:
        """The bad records that were not applied."""
        return self._follower.quarantine

    @property
    def versions(self) -> VersionKeeper | None:
        """What is known of the past of the keys; None where no versions are kept."""
        follower = self._follower
        return follower.versions if isinstance(follower, VersionedFollower) else None

    # -- readiness -------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether reads of this partition are served."""
        return self._is_ready()

    def ensure_ready(self) -> None:
        """Raise NotReadyError unless reads of this partition are served."""
        if not self.ready:
            unread = max(0, self._follower.target - self._follower.gathered)
            raise NotReadyError(
                f"partition {self.partition} of {self._topic} is being restored, "
                f"{unread} offsets are unread",
                hint="wait_ready() waits; query.get(..., allow_stale=True) answers at once",
            )

    def explained(self, error: StoreError) -> StoreError | PartitionNotHereError:
        """The error to raise for one of the store: the partition may have left meanwhile."""
        return not_here(self._topic, self.partition) if self.lost else error


def not_here(topic: str, partition: int) -> PartitionNotHereError:
    """The error of whoever asks for a partition that this process does not hold."""
    return PartitionNotHereError(
        f"partition {partition} of {topic} is not held here",
        hint="ask the instance that holds it, or try again once this one does",
        partition=partition,
    )
