"""One partition's store that keeps the versions of its keys, not only their last word."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from lastword.clock import Clock
from lastword.records import Batch
from lastword.replicas.apply.checkpoint import Checkpoint, encode_checkpoint
from lastword.replicas.apply.record_filter import FilteredBatch, RecordFilter
from lastword.replicas.partition_follower import PartitionFollower, StartPoint
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.versions.keeper import VersionKeeper
from lastword.replicas.versions.known_past import KnownPast
from lastword.replicas.versions.versions import Keep
from lastword.stores.versioned import VersionedStore


class VersionedFollower(PartitionFollower):
    """A ``PartitionFollower`` whose every batch also changes the pasts of its keys."""

    def __init__(
        self,
        partition: int,
        store: VersionedStore,
        record_filter: RecordFilter,
        clock: Clock,
        keep: Keep,
    ) -> None:
        super().__init__(partition, store, record_filter, clock)
        self.versions = VersionKeeper(store, record_filter, keep, clock)

    def rebuild(self, topic_state: TopicState, reason: str) -> StartPoint:
        """Forget everything, the past as well."""
        start = super().rebuild(topic_state, reason)
        self.versions.begin(KnownPast())
        self.versions.see_lag(topic_state.compaction_lag_ms, topic_state.at_ms)
        self.versions.pass_by(start.offset, 0)
        return start

    def adopt(self, checkpoint: Checkpoint) -> None:
        """The store was filled with the state of a position, whose past nobody knows."""
        known = KnownPast(
            time_ms=checkpoint.caught_up_at_ms,
            known_from=checkpoint.next_offset,
            known_since_ms=checkpoint.caught_up_at_ms,
        )
        super().adopt(msgspec.structs.replace(checkpoint, versions=known))

    def _resume(self, checkpoint: Checkpoint, topic_state: TopicState) -> StartPoint:
        if checkpoint.versions is None:
            raise RuntimeError("a versioned store has a note in its checkpoint")
        self.versions.begin(checkpoint.versions)
        self.versions.see_lag(topic_state.compaction_lag_ms, topic_state.at_ms)
        return super()._resume(checkpoint, topic_state)

    def accept(self, batch: Batch, *, gather: bool) -> FilteredBatch:
        """Take a batch in, every change of it."""
        self.versions.take(batch, self.gathered)
        return super().accept(batch, gather=gather)

    def advance(self, offset: int, leader_epoch: int = -1) -> None:
        """The log was read up to ``offset``, though no record may have come from there."""
        self.versions.pass_by(offset, self.gathered)
        super().advance(offset, leader_epoch)

    def note_topic_state(self, topic_state: TopicState) -> None:
        """A new look at the topic, after which the past may be known again."""
        super().note_topic_state(topic_state)
        protected_ms = self.versions.note.lag_ms
        self.versions.see_lag(topic_state.compaction_lag_ms, topic_state.at_ms)
        if self.versions.note.lag_ms < protected_ms:
            self.commit()  # at once: it may be raised again before a restart
        unsure_at_ms = self.versions.note.unsure_at_ms
        if self.partition in topic_state.unanswered:
            return
        if unsure_at_ms is not None and topic_state.at_ms > unsure_at_ms:
            self.look_back(topic_state.ends[self.partition])

    def look_back(self, end: int) -> None:
        """The log ended at ``end`` just now; of no use while the store is behind what was read."""
        if not self.gathering:
            self.versions.look_back(end, self.gathered)

    def drop(self, doomed: Collection[tuple[bytes, int]]) -> list[bytes]:
        """Remove dead rows; when they were deleted, and not only expired, is not known."""
        log_start = self._known_topic_state.starts[self.partition]
        if any(offset >= log_start for _, offset in doomed):
            self.versions.lose_track()
        return super().drop(doomed)

    def refresh_checkpoint(self) -> None:
        """Keep the checkpoint young and the pasts short."""
        super().refresh_checkpoint()
        if self.live and self.versions.expire():
            self._write({}, ())

    def _apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: Checkpoint
    ) -> None:
        past = self.versions.settle(deletes, self.gathered)
        noted = msgspec.structs.replace(checkpoint, versions=self.versions.note)
        self.versions.store.apply_with_past(puts, deletes, past, encode_checkpoint(noted))
