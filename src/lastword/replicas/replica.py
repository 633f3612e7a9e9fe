"""One partition's local copy as readers see it: its rows, how far it is and how current."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from lastword.errors import NotReadyError, PartitionNotHereError, StoreError
from lastword.replicas.apply.quarantine import Quarantine
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.progress import RestoreProgress, progress_of, still_to_do
from lastword.replicas.sweep.soundness import Freshness, Soundness
from lastword.replicas.versions.past_builder import PastBuilder
from lastword.stores.base import Store, StoreScan

WAIT_OR_STALE = "wait_ready() waits; query.get(..., allow_stale=True) answers at once"


class Replica:
    """The copy of one partition. Safe to read from any thread.

    ``lock`` is held while a batch is applied to the store and published. To see several partitions
    as of one moment, use ``ReplicaSet.one_moment``. ``preparing`` is held by the thread that
    prepares the store before its log is read.

    ``following`` says that the log is being read: then, and only then, the tailing thread uses the
    ``follower``. ``records`` counts the records of the restore. A replica that is ``lost`` has
    left the set, and its store is closed.
    """

    def __init__(self, topic: str, follower: PartitionFollower) -> None:
        self.topic = topic
        self.partition = follower.partition
        self.follower = follower
        self.store: Store = follower.store
        self.lock = threading.Lock()
        self.preparing = threading.Lock()
        self.ready = False
        self.following = False
        self.lost = False
        self.gained = False
        self.start_attempts = 0
        self.records = 0

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
    ) -> StoreScan:
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
        return self.follower.position

    @property
    def complete_at_ms(self) -> int:
        """A moment at which the log held nothing beyond the position and no delete was missed."""
        return self.follower.complete_at_ms

    @property
    def at_end_ms(self) -> int:
        """The last moment whose log is known to be here completely."""
        return self.follower.soundness.at_end_ms

    @property
    def topic_id(self) -> str:
        """Kafka's id of the topic that the rows belong to."""
        return self.follower.topic_id

    @property
    def live(self) -> bool:
        """Whether the captured end was reached; a first sweep may still be running."""
        return self.follower.live

    @property
    def freshness(self) -> Freshness:
        """Whether a read may be out of date, and how long ago the cluster last answered."""
        return self.follower.freshness

    @property
    def unsound(self) -> bool:
        """Whether the rows may be wrong: deletes may have been missed, or are not read yet."""
        return self.follower.unsound

    @property
    def soundness(self) -> Soundness:
        """Until when this copy has certainly missed no delete."""
        return self.follower.soundness

    @property
    def quarantine(self) -> Quarantine:
        """The bad records that were not applied."""
        return self.follower.quarantine

    @property
    def versions(self) -> PastBuilder | None:
        """The moments for which versions are complete; None if no versions are kept."""
        return self.follower.recorder.past_builder

    def progress(self, *, blocked: bool = False) -> RestoreProgress:
        """How far the restore has come; ``blocked`` where its log seems to end too early."""
        return progress_of(self.follower, self.records, blocked=blocked)

    # -- readiness -------------------------------------------------------------------------

    def ensure_ready(self) -> None:
        """Raise NotReadyError unless reads of this partition are served."""
        if not self.ready:
            raise NotReadyError(
                f"partition {self.partition} of {self.topic} is being restored, "
                + still_to_do([self.progress()]),
                hint=WAIT_OR_STALE,
            )

    def explained(self, error: StoreError) -> StoreError | PartitionNotHereError:
        """The error to raise for an error of the store: the partition may be lost by now."""
        return not_here(self.topic, self.partition) if self.lost else error


def not_here(topic: str, partition: int) -> PartitionNotHereError:
    """The error for a partition that this process does not hold."""
    return PartitionNotHereError(
        f"partition {partition} of {topic} is not held here",
        hint="ask the instance that holds it, or try again once this one does",
        partition=partition,
    )
