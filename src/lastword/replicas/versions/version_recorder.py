"""The interface by which a follower records versions, and its two implementations.

A follower gets one of them. ``NoVersions`` keeps nothing; ``KeptVersions`` works every change
into the pasts of the keys, in the same atomic step as the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from lastword.clock import Clock
from lastword.records import Batch
from lastword.replicas.apply.checkpoint import Checkpoint, encode_checkpoint
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.versions.past_builder import PastBuilder
from lastword.replicas.versions.past_coverage import PastCoverage
from lastword.replicas.versions.versions import VersionLimit
from lastword.stores.base import Store
from lastword.stores.versioned import VersionedStore


class VersionRecorder(Protocol):
    """Records what happens to one partition; called by the thread that applies."""

    @property
    def past_builder(self) -> PastBuilder | None:
        """What is known of the past; None where none is kept."""

    def start_over(self, topic_state: TopicState, start: int) -> None:
        """The store is empty, and the log is read from ``start`` on."""

    def resume(self, checkpoint: Checkpoint, topic_state: TopicState) -> None:
        """The store continues from a checkpoint."""

    def take(self, batch: Batch, expected: int) -> None:
        """A batch was read; ``expected`` is the offset that was to come next."""

    def pass_by(self, offset: int, expected: int) -> None:
        """The log was read up to ``offset``, without a record from ``expected`` on."""

    def on_topic_state(self, topic_state: TopicState) -> bool:
        """A new topic state; returns whether the checkpoint must be written at once."""

    def confirm_end(self, end: int, at_ms: int | None, position: int) -> None:
        """The log ended at ``end`` at that time, None for now; ``position`` is applied."""

    def dropping(self, doomed: Collection[tuple[bytes, int]], log_start: int) -> None:
        """Rows found dead by a sweep are about to be removed."""

    def expire(self) -> bool:
        """Find pasts that are too old; whether the next ``apply`` has something to do for it."""

    def adopted(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint of a store filled from elsewhere, with what is known of its past."""

    def apply(
        self,
        puts: Mapping[bytes, bytes],
        deletes: Collection[bytes],
        checkpoint: Checkpoint,
    ) -> None:
        """Write rows, checkpoint and, where they are kept, pasts in one atomic step."""


class NoVersions:
    """Keeps nothing: rows and checkpoint go into the store as they are."""

    past_builder = None

    def __init__(self, store: Store) -> None:
        self._store = store

    def start_over(self, topic_state: TopicState, start: int) -> None:
        """Nothing to do."""

    def resume(self, checkpoint: Checkpoint, topic_state: TopicState) -> None:
        """Nothing to do."""

    def take(self, batch: Batch, expected: int) -> None:
        """Nothing to do."""

    def pass_by(self, offset: int, expected: int) -> None:
        """Nothing to do."""

    def on_topic_state(self, topic_state: TopicState) -> bool:
        """Nothing to do."""
        return False

    def confirm_end(self, end: int, at_ms: int | None, position: int) -> None:
        """Nothing to do."""

    def dropping(self, doomed: Collection[tuple[bytes, int]], log_start: int) -> None:
        """Nothing to do."""

    def expire(self) -> bool:
        """Nothing to do."""
        return False

    def adopted(self, checkpoint: Checkpoint) -> Checkpoint:
        """As it is."""
        return checkpoint

    def apply(
        self,
        puts: Mapping[bytes, bytes],
        deletes: Collection[bytes],
        checkpoint: Checkpoint,
    ) -> None:
        """Write rows and checkpoint."""
        self._store.apply(puts, deletes, encode_checkpoint(checkpoint))


class KeptVersions:
    """Keeps the versions of one partition's keys in the store itself."""

    def __init__(
        self, store: VersionedStore, record_filter: RecordFilter, keep: VersionLimit, clock: Clock
    ) -> None:
        self.past_builder = PastBuilder(store, record_filter, keep, clock)
        self._store = store

    def start_over(self, topic_state: TopicState, start: int) -> None:
        """Forget the past as well; what was in the log before ``start`` is not known."""
        self.past_builder.begin(PastCoverage())
        self.past_builder.see_lag(topic_state.compaction_lag_ms, topic_state.at_ms)
        self.past_builder.pass_by(start, 0)

    def resume(self, checkpoint: Checkpoint, topic_state: TopicState) -> None:
        """Go on with what the checkpoint knows."""
        if checkpoint.versions is None:
            raise RuntimeError("the checkpoint of a versioned store says what is known of the past")
        self.past_builder.begin(checkpoint.versions)
        self.past_builder.see_lag(topic_state.compaction_lag_ms, topic_state.at_ms)

    def take(self, batch: Batch, expected: int) -> None:
        """Collect every change of the batch."""
        self.past_builder.take(batch, expected)

    def pass_by(self, offset: int, expected: int) -> None:
        """Notice a gap."""
        self.past_builder.pass_by(offset, expected)

    def on_topic_state(self, topic_state: TopicState) -> bool:
        """Write a lowered protection at once: it may be raised before a restart."""
        protected_ms = self.past_builder.coverage.lag_ms
        self.past_builder.see_lag(topic_state.compaction_lag_ms, topic_state.at_ms)
        return self.past_builder.coverage.lag_ms < protected_ms

    def confirm_end(self, end: int, at_ms: int | None, position: int) -> None:
        """From ``end`` on the past is known, if it was asked for after the last gap was read."""
        gap_at_ms = self.past_builder.coverage.gap_at_ms
        if gap_at_ms is not None and (at_ms is None or at_ms > gap_at_ms):
            self.past_builder.confirm_end(end, position)

    def dropping(self, doomed: Collection[tuple[bytes, int]], log_start: int) -> None:
        """Record rows whose time of deletion is not known."""
        if any(offset >= log_start for _, offset in doomed):
            self.past_builder.lose_track()

    def expire(self) -> bool:
        """Trim pasts that are too old."""
        return self.past_builder.expire()

    def adopted(self, checkpoint: Checkpoint) -> Checkpoint:
        """The state at a position, whose past is unknown."""
        known = PastCoverage(
            time_ms=checkpoint.caught_up_at_ms,
            complete_from=checkpoint.next_offset,
            complete_since_ms=checkpoint.caught_up_at_ms,
        )
        return msgspec.structs.replace(checkpoint, versions=known)

    def apply(
        self,
        puts: Mapping[bytes, bytes],
        deletes: Collection[bytes],
        checkpoint: Checkpoint,
    ) -> None:
        """Write rows, pasts and checkpoint in one atomic step."""
        past = self.past_builder.settle(deletes, checkpoint.next_offset)
        covered = msgspec.structs.replace(checkpoint, versions=self.past_builder.coverage)
        self._store.apply_with_past(puts, deletes, past, encode_checkpoint(covered))
