"""The life of one partition's store: begin, restore to the captured end, live, swept when due.

It has no threads and no Kafka client: its owner feeds it batches and topic states, on one thread.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain

from lastword.clock import Clock
from lastword.keyspace import Keyspace
from lastword.records import Batch
from lastword.replicas.apply.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from lastword.replicas.apply.gathered import GatheredRows
from lastword.replicas.apply.log_offsets import LogOffsets
from lastword.replicas.apply.quarantine import Quarantine
from lastword.replicas.apply.rebuild_reason import why_rebuild
from lastword.replicas.apply.record_filter import FilteredBatch, RecordFilter
from lastword.replicas.sweep.dead_rows import SweepProgress
from lastword.replicas.sweep.soundness import CONTACT_MAX_S, Freshness, Soundness
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.versions.version_recorder import NoVersions, VersionRecorder
from lastword.rows import offset_of
from lastword.stores.base import Store


@dataclass(frozen=True, slots=True)
class StartPoint:
    """Where reading begins, and why there."""

    offset: int
    leader_epoch: int
    reason: str
    from_scratch: bool


class PartitionFollower:
    """Applies one partition of a log to a store.

    ``offsets`` knows how far it is, and ``soundness`` whether deletes may have been missed.
    ``gathered`` holds what a restore collects for one large apply. ``recorder`` keeps the past of
    the keys where that is wanted. Its owner sets ``topic_gone`` when the topic was deleted, and
    ``sweep`` to the progress of a running sweep.
    """

    def __init__(
        self,
        partition: int,
        store: Store,
        record_filter: RecordFilter,
        clock: Clock,
        recorder: VersionRecorder | None = None,
    ) -> None:
        self.partition = partition
        self.store = store
        self.recorder: VersionRecorder = NoVersions(store) if recorder is None else recorder
        self.offsets = LogOffsets()
        self.soundness = Soundness(clock)
        self.quarantine = Quarantine()
        self.gathered = GatheredRows()
        self.live = False
        self.topic_gone = False
        self.sweep: SweepProgress | None = None
        self._filter = record_filter
        self._clock = clock
        self._topic_state: TopicState | None = None
        self._written_caught_up_ms = 0

    @property
    def position(self) -> int:
        """The offset after the last record that is in the store."""
        return self.offsets.position

    @property
    def sweep_due(self) -> bool:
        """Whether a key that was deleted may still be here."""
        return self.soundness.sweep_due

    @property
    def unsound(self) -> bool:
        """Whether the rows may be wrong: deletes may have been missed, or are not read yet."""
        return self.soundness.sweep_due or not self.live

    @property
    def topic_id(self) -> str:
        """Which topic the rows are of."""
        return self._known_topic_state.topic_id

    @property
    def complete_at_ms(self) -> int:
        """A moment at which the log held nothing beyond the position and no delete was missed."""
        return self.soundness.caught_up_at_ms if self.live else 0

    @property
    def freshness(self) -> Freshness:
        """Whether a read may be out of date, also because the cluster does not answer."""
        age_s = self.soundness.contact_age_s
        return Freshness(self.unsound or self.topic_gone or age_s > CONTACT_MAX_S, age_s)

    @property
    def keyspace(self) -> Keyspace:
        """Which keys belong here."""
        return self._filter.keyspace

    # -- beginning -------------------------------------------------------------------------

    def begin(self, topic_state: TopicState) -> StartPoint:
        """Decide between continuing from the checkpoint and starting over; capture the end."""
        checkpoint = decode_checkpoint(self.store.checkpoint())
        reason = why_rebuild(
            checkpoint,
            topic_state,
            self.partition,
            key_suffix_bytes=self.keyspace.suffix_bytes,
            is_new=self.store.checkpoint() is None,
        )
        if reason is None and checkpoint is not None:
            return self._resume(checkpoint, topic_state)
        return self.rebuild(topic_state, reason or "the store is new")

    def rebuild(self, topic_state: TopicState, reason: str) -> StartPoint:
        """Forget everything and start at the beginning of the log."""
        self.live = False
        self.store.clear()
        self.quarantine = Quarantine()
        # An empty store has missed nothing yet: its age counts from here.
        self.soundness.begin(
            caught_up_at_ms=self._clock.now_ms(),
            retention_ms=topic_state.delete_retention_ms,
            at_end_ms=topic_state.at_ms,
        )
        start = topic_state.starts[self.partition]
        self._start_at(start, -1, topic_state)
        self.recorder.start_over(topic_state, start)
        return StartPoint(start, -1, reason, from_scratch=True)

    def adopt(self, checkpoint: Checkpoint) -> None:
        """The store was filled from a snapshot: take over its checkpoint."""
        self.store.apply({}, (), encode_checkpoint(self.recorder.adopted(checkpoint)))

    def _resume(self, checkpoint: Checkpoint, topic_state: TopicState) -> StartPoint:
        self.live = False
        self.quarantine = Quarantine.unpack(checkpoint.quarantined)
        self.soundness.begin(
            caught_up_at_ms=checkpoint.caught_up_at_ms,
            retention_ms=min(checkpoint.delete_retention_ms, topic_state.delete_retention_ms),
            at_end_ms=topic_state.at_ms,
        )
        offset, epoch = checkpoint.next_offset, checkpoint.leader_epoch
        self._start_at(offset, epoch, topic_state)
        self.recorder.resume(checkpoint, topic_state)
        return StartPoint(offset, epoch, "continuing from the checkpoint", from_scratch=False)

    def _start_at(self, offset: int, epoch: int, topic_state: TopicState) -> None:
        self._topic_state = topic_state
        self.gathered = GatheredRows()
        self.offsets.begin(offset, epoch, topic_state.ends[self.partition])

    # -- reading ---------------------------------------------------------------------------

    def accept(self, batch: Batch, *, gather: bool) -> FilteredBatch:
        """Apply a batch at once, or with ``gather`` later by ``commit``."""
        self.recorder.take(batch, self.offsets.next_offset)
        filtered = self._filter.filtered(batch)
        self.offsets.read(batch.next_offset, batch.leader_epoch)
        self.quarantine.release(chain(filtered.puts, filtered.deletes))
        self.quarantine.add(filtered.quarantined)
        if self.gathered or gather:
            self.gathered.add(filtered)
            if not gather:
                self.commit()
        else:
            self._write(filtered.puts, filtered.deletes)
        return filtered

    def commit(self) -> None:
        """Apply what was gathered, with the checkpoint, in one atomic batch."""
        self._write(*self.gathered.take())

    def advance(self, offset: int, leader_epoch: int = -1) -> None:
        """The log was read up to ``offset``, though no record may have come from there.

        The offsets between the last record and ``offset`` may belong to a later leader: a position
        with the record's epoch would look as if the log had been truncated.
        """
        self.recorder.pass_by(offset, self.offsets.next_offset)
        self.offsets.read(offset, leader_epoch)
        if not self.gathered:
            self.offsets.applied()

    def go_live(self) -> None:
        """The captured end is reached: apply everything and check how long it took.

        Records after the captured end may be unread, so nothing newer is proven.
        """
        self.soundness.go_live(self._known_topic_state.delete_retention_ms)
        if self._known_topic_state.starts[self.partition] > 0:
            self.soundness.on_expiry()  # before, for all that is known here
        self.live = True
        self.commit()

    # -- what is known of the topic --------------------------------------------------------

    def on_topic_state(self, topic_state: TopicState) -> None:
        """A new topic state; when live, it proves until when nothing was missed."""
        self._topic_state = topic_state
        sound, retention_ms = self.soundness, topic_state.delete_retention_ms
        sound.retention_ms = min(sound.retention_ms, retention_ms)
        if self.partition not in topic_state.unanswered:
            end, at_ms = topic_state.ends[self.partition], topic_state.at_ms
            sound.answered(at_ms)
            self.offsets.ended(end)
            if self.live:
                sound.observe_end(end, at_ms, self.offsets.read_up_to, retention_ms)
        if self.recorder.on_topic_state(topic_state):
            self.commit()
        if self.partition not in topic_state.unanswered:
            self.confirm_end(topic_state.ends[self.partition], topic_state.at_ms)

    def confirm_end(self, end: int, at_ms: int | None = None) -> None:
        """The log ended at ``end`` at that time, or now; ignored while the store is behind."""
        if not self.gathered:
            self.recorder.confirm_end(end, at_ms, self.offsets.next_offset)

    def check_lag(self) -> None:
        """Detect that a live store has lagged for too long, even if no broker answers."""
        if self.live:
            self.soundness.check_lag()

    def refresh_checkpoint(self) -> None:
        """Refresh the time in the checkpoint of an idle store, and trim the pasts of keys."""
        persistent = self.store.capabilities.persistent
        written = self.soundness.caught_up_at_ms == self._written_caught_up_ms
        if persistent and self.live and not written:
            self._write({}, ())
        if self.live and self.recorder.expire():
            self._write({}, ())

    # -- sweeping --------------------------------------------------------------------------

    def drop(self, doomed: Collection[tuple[bytes, int]]) -> list[bytes]:
        """Remove rows found dead by a pass over the log, unless they changed since.

        A key's last good row stays while a newer, quarantined record of the key is in the log.
        """
        self.recorder.dropping(doomed, self._known_topic_state.starts[self.partition])
        rows = self.store.get_many([key for key, _ in doomed])
        quarantined = len(self.quarantine)
        dropped: list[bytes] = []
        for (key, offset), row in zip(doomed, rows, strict=True):
            bad = self.quarantine.get(key)
            if bad is not None and bad.offset == offset:
                self.quarantine.release([key])
                if row is not None and offset_of(row) < offset:
                    dropped.append(key)
            elif bad is None and row is not None and offset_of(row) == offset:
                dropped.append(key)
        if dropped or len(self.quarantine) < quarantined:
            self._write({}, dropped)
        return dropped

    def swept(self, at_ms: int, duration_ms: int, dropped: int) -> None:
        """A pass over the log below the position of ``at_ms`` is done."""
        retention_ms = self._known_topic_state.delete_retention_ms
        if self.soundness.swept(at_ms, duration_ms, dropped, retention_ms):
            self.refresh_checkpoint()

    def _write(self, puts: Mapping[bytes, bytes], deletes: Collection[bytes]) -> None:
        topic_state = self._known_topic_state
        checkpoint = Checkpoint(
            cluster_id=topic_state.cluster_id,
            topic_id=topic_state.topic_id,
            partitions=topic_state.partitions,
            next_offset=self.offsets.next_offset,
            leader_epoch=self.offsets.leader_epoch,
            caught_up_at_ms=self.soundness.caught_up_at_ms,
            delete_retention_ms=self.soundness.retention_ms,
            quarantined=self.quarantine.packed(),
            key_suffix_bytes=self.keyspace.suffix_bytes,
        )
        self.recorder.apply(puts, deletes, checkpoint)
        self.offsets.applied()
        self._written_caught_up_ms = self.soundness.caught_up_at_ms

    @property
    def _known_topic_state(self) -> TopicState:
        if self._topic_state is None:
            raise RuntimeError("a follower works only after begin()")
        return self._topic_state
