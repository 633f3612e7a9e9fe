"""One partition's store that keeps the versions of its keys, not only their last word."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from lastword.clock import Clock
from lastword.follow.checkpoint import Checkpoint, encode_checkpoint
from lastword.follow.facts import TopicFacts
from lastword.follow.judge import Judge, Verdict
from lastword.follow.partition import PartitionFollower, StartPoint
from lastword.follow.version_keeper import VersionKeeper
from lastword.follow.versions import Keep
from lastword.follow.versions_note import VersionsNote
from lastword.records import Batch
from lastword.stores.versioned import VersionedStore


class VersionedFollower(PartitionFollower):
    """A ``PartitionFollower`` whose every batch also changes the pasts of its keys."""

    def __init__(
        self, partition: int, store: VersionedStore, judge: Judge, clock: Clock, keep: Keep
    ) -> None:
        super().__init__(partition, store, judge, clock)
        self.versions = VersionKeeper(store, judge, keep, clock)

    def rebuild(self, facts: TopicFacts, reason: str) -> StartPoint:
        """Forget everything, the past as well."""
        start = super().rebuild(facts, reason)
        self.versions.begin(VersionsNote())
        self.versions.see_lag(facts.compaction_lag_ms, facts.at_ms)
        self.versions.pass_by(start.offset, 0)
        return start

    def adopt(self, checkpoint: Checkpoint) -> None:
        """The store was filled with the state of a position, whose past nobody knows."""
        known = VersionsNote(
            time_ms=checkpoint.caught_up_at_ms,
            known_from=checkpoint.next_offset,
            known_since_ms=checkpoint.caught_up_at_ms,
        )
        super().adopt(msgspec.structs.replace(checkpoint, versions=known))

    def _resume(self, checkpoint: Checkpoint, facts: TopicFacts) -> StartPoint:
        if checkpoint.versions is None:
            raise RuntimeError("a versioned store has a note in its checkpoint")
        self.versions.begin(checkpoint.versions)
        self.versions.see_lag(facts.compaction_lag_ms, facts.at_ms)
        return super()._resume(checkpoint, facts)

    def accept(self, batch: Batch, *, gather: bool) -> Verdict:
        """Take a batch in, every change of it."""
        self.versions.take(batch, self.gathered)
        return super().accept(batch, gather=gather)

    def advance(self, offset: int, leader_epoch: int = -1) -> None:
        """The log was read up to ``offset``, though no record may have come from there."""
        self.versions.pass_by(offset, self.gathered)
        super().advance(offset, leader_epoch)

    def note_facts(self, facts: TopicFacts) -> None:
        """A new look at the topic, after which the past may be known again."""
        super().note_facts(facts)
        protected_ms = self.versions.note.lag_ms
        self.versions.see_lag(facts.compaction_lag_ms, facts.at_ms)
        if self.versions.note.lag_ms < protected_ms:
            self.commit()  # at once: it may be raised again before a restart
        unsure_at_ms = self.versions.note.unsure_at_ms
        if self.partition in facts.unanswered:
            return
        if unsure_at_ms is not None and facts.at_ms > unsure_at_ms:
            self.look_back(facts.ends[self.partition])

    def look_back(self, end: int) -> None:
        """The log ended at ``end`` just now; of no use while the store is behind what was read."""
        if not self.gathering:
            self.versions.look_back(end, self.gathered)

    def drop(self, doomed: Collection[tuple[bytes, int]]) -> list[bytes]:
        """Remove dead rows; when they were deleted, and not only expired, is not known."""
        log_start = self._known_facts.starts[self.partition]
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
