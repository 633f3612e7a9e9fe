"""The life of one partition's store: begin, restore to the captured end, live, swept when due.

No threads and no Kafka in here: the tailer feeds it batches and facts, on one thread.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain

from lastword.clock import Clock
from lastword.kafka.admin.offsets import LogEnd
from lastword.keyspace import Keyspace
from lastword.records import Batch
from lastword.replicas.apply.checkpoint import (
    Checkpoint,
    decode_checkpoint,
    encode_checkpoint,
)
from lastword.replicas.apply.quarantine import Quarantine
from lastword.replicas.apply.rebuild_reason import why_rebuild
from lastword.replicas.apply.record_filter import FilteredBatch, RecordFilter
from lastword.replicas.apply.rows import offset_of
from lastword.replicas.sweep.soundness import CONTACT_MAX_S, Currency, Soundness
from lastword.replicas.topic.topic_state import TopicState
from lastword.stores.base import Store

log = logging.getLogger(__name__)

TOMBSTONE_BYTES = 128
"""What a gathered tombstone takes beside its key: a bytes object and its place in a set. Rows are
counted by what they hold, for there that is most of it."""


@dataclass(frozen=True, slots=True)
class StartPoint:
    """Where reading begins, and why there."""

    offset: int
    leader_epoch: int
    reason: str
    from_scratch: bool


class PartitionFollower:
    """Applies one partition of a log to a store and knows how far and how sound it is.

    ``position`` is what readers see; ``gathered`` runs ahead of it while a restore collects a
    large batch. ``soundness`` knows whether deletes may have been missed.
    """

    def __init__(
        self, partition: int, store: Store, record_filter: RecordFilter, clock: Clock
    ) -> None:
        self.partition = partition
        self.store = store
        self.position = 0
        self.gathered = 0
        self.gathered_bytes = 0
        self.start = 0
        self.target = 0
        self.live = False
        self.topic_gone = False
        self.soundness = Soundness(clock)
        self.quarantine = Quarantine()
        self._filter = record_filter
        self._clock = clock
        self._topic_state: TopicState | None = None
        self._epoch = -1
        self._gap_end = 0
        self._unreached: tuple[int, int] | None = None
        self._written_caught_up_ms = 0
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()

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
    def currency(self) -> Currency:
        """Whether a read may be out of date, also because the cluster does not answer."""
        age_s = self.soundness.contact_age_s
        return Currency(self.unsound or self.topic_gone or age_s > CONTACT_MAX_S, age_s)

    @property
    def stale(self) -> bool:
        """The first half of that."""
        return self.currency.stale

    @property
    def at_end_ms(self) -> int:
        """The last moment of which everything that was then in the log is known to be here."""
        return self.soundness.at_end_ms

    @property
    def keyspace(self) -> Keyspace:
        """Which keys belong here."""
        return self._filter.keyspace

    @property
    def gathering(self) -> bool:
        """Whether something was taken in that is not in the store yet."""
        return bool(self._puts or self._deletes)

    @property
    def finished(self) -> bool:
        """Whether everything below the captured end has been read."""
        return self.read_up_to >= self.target

    @property
    def read_up_to(self) -> int:
        """Up to here every record has been read, or there is none."""
        return max(self.gathered, self._gap_end)

    def begin(self, topic_state: TopicState) -> StartPoint:
        """Decide between going on from the checkpoint and starting over; capture the end."""
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
        self.store.clear()
        self._reset(topic_state)
        self.quarantine = Quarantine()
        # An empty store has missed nothing yet: its age counts from here.
        self.soundness.begin(
            caught_up_at_ms=self._clock.now_ms(),
            retention_ms=topic_state.delete_retention_ms,
            at_end_ms=topic_state.at_ms,
        )
        start = topic_state.starts[self.partition]
        return self._start_at(start, -1, topic_state, reason, from_scratch=True)

    def adopt(self, checkpoint: Checkpoint) -> None:
        """The store was filled from elsewhere: this is what it holds."""
        self.store.apply({}, (), encode_checkpoint(checkpoint))

    def _resume(self, checkpoint: Checkpoint, topic_state: TopicState) -> StartPoint:
        self._reset(topic_state)
        self.quarantine = Quarantine.unpack(checkpoint.quarantined)
        self.soundness.begin(
            caught_up_at_ms=checkpoint.caught_up_at_ms,
            retention_ms=min(checkpoint.delete_retention_ms, topic_state.delete_retention_ms),
            at_end_ms=topic_state.at_ms,
        )
        return self._start_at(
            checkpoint.next_offset,
            checkpoint.leader_epoch,
            topic_state,
            "going on from the checkpoint",
            from_scratch=False,
        )

    def _start_at(
        self, offset: int, epoch: int, topic_state: TopicState, reason: str, *, from_scratch: bool
    ) -> StartPoint:
        self.start = self.position = self.gathered = offset
        self.target = topic_state.ends[self.partition]
        self._epoch = epoch
        return StartPoint(offset, epoch, reason, from_scratch)

    def _reset(self, topic_state: TopicState) -> None:
        self._topic_state = topic_state
        self._puts, self._deletes, self.gathered_bytes = {}, set(), 0
        self._gap_end, self._unreached = 0, None
        self.live = False

    def accept(self, batch: Batch, *, gather: bool) -> FilteredBatch:
        """Take a batch in; apply it at once, or with ``gather`` later by ``commit``."""
        filtered = self._filter.filtered(batch)
        self.gathered = max(self.gathered, batch.next_offset)
        self._epoch = max(self._epoch, batch.leader_epoch)
        self.quarantine.release(chain(filtered.puts, filtered.deletes))
        self.quarantine.add(filtered.quarantined)
        if self._puts or self._deletes or gather:
            self._merge(filtered)
            if not gather:
                self.commit()
        else:
            self._write(filtered.puts, filtered.deletes)
        return filtered

    def _merge(self, filtered: FilteredBatch) -> None:
        for key in filtered.deletes:
            self._puts.pop(key, None)
        self._deletes.difference_update(filtered.puts)
        self._deletes.update(filtered.deletes)
        self._puts.update(filtered.puts)
        self.gathered_bytes += sum(map(len, filtered.puts.values()))
        self.gathered_bytes += sum(map(len, filtered.puts))
        self.gathered_bytes += sum(map(len, filtered.deletes))
        self.gathered_bytes += len(filtered.deletes) * TOMBSTONE_BYTES

    def commit(self) -> None:
        """Apply what was gathered, with the checkpoint, in one atomic batch."""
        puts, deletes = self._puts, self._deletes
        self._puts, self._deletes, self.gathered_bytes = {}, set(), 0
        self._write(puts, deletes)

    def advance(self, offset: int, leader_epoch: int = -1) -> None:
        """The log was read up to ``offset``, though no record may have come from there.

        What lies between the last record and ``offset`` may be of a later leader: a position
        with the epoch of the record would look as if the log had been truncated.
        """
        self.gathered = max(self.gathered, offset)
        self._epoch = max(self._epoch, leader_epoch)
        if not (self._puts or self._deletes):
            self.position = self.gathered

    @property
    def where_reading_got_to(self) -> LogEnd:
        """The place at which the log can be read on."""
        return LogEnd(self.gathered, self._epoch)

    def end_in_gap(self) -> None:
        """Nothing is left before the captured end: the last offsets of the log are empty.

        The position stays where reading got to. Should the verdict be wrong, whatever comes is
        still applied, and a restart still begins before it.
        """
        self._gap_end = self.target

    def go_live(self) -> None:
        """The captured end is reached: apply everything and judge how long it took.

        What was written since the end was captured may be unread, so nothing newer is proven.
        """
        self.soundness.go_live(self._known_topic_state.delete_retention_ms)
        if self._known_topic_state.starts[self.partition] > 0:
            self.soundness.note_expiry()  # before, for all that is known here
        self.live = True
        self.commit()

    def note_topic_state(self, topic_state: TopicState) -> None:
        """A new look at the topic; when live, it proves until when nothing was missed."""
        self._topic_state = topic_state
        sound, end = self.soundness, topic_state.ends[self.partition]
        sound.retention_ms = min(sound.retention_ms, topic_state.delete_retention_ms)
        if self.partition in topic_state.unanswered:
            return
        sound.answered(topic_state.at_ms)
        # A high watermark never falls, unless the log lost its tail: what is gone cannot be read.
        self.target = min(self.target, end)
        if not self.live:
            return
        ahead = self._unreached
        if self.read_up_to >= end:
            sound.reach(topic_state.at_ms, topic_state.delete_retention_ms)
            self._unreached = None
        elif ahead is None:
            self._unreached = (end, topic_state.at_ms)
        elif self.read_up_to >= ahead[0]:
            # A busy table is behind this look and still at the end of an earlier one.
            sound.reach(ahead[1], topic_state.delete_retention_ms)
            self._unreached = (end, topic_state.at_ms)

    def check_lag(self) -> None:
        """Notice that a live store has been behind for too long, also when nobody answers."""
        if self.live:
            self.soundness.check_lag()

    def refresh_checkpoint(self) -> None:
        """Write the time in the checkpoint of an idle store, so that a restart finds it young."""
        persistent = self.store.capabilities.persistent
        written = self.soundness.caught_up_at_ms == self._written_caught_up_ms
        if persistent and self.live and not written:
            self._write({}, ())

    def drop(self, doomed: Collection[tuple[bytes, int]]) -> list[bytes]:
        """Remove rows found dead by a pass over the log, unless they changed since.

        A key's last good row stays while a newer, quarantined record of the key is in the log.
        """
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
            next_offset=self.gathered,
            leader_epoch=self._epoch,
            caught_up_at_ms=self.soundness.caught_up_at_ms,
            delete_retention_ms=self.soundness.retention_ms,
            quarantined=self.quarantine.packed(),
            key_suffix_bytes=self.keyspace.suffix_bytes,
        )
        self._apply(puts, deletes, checkpoint)
        self.position = self.gathered
        self._written_caught_up_ms = self.soundness.caught_up_at_ms

    @property
    def _known_topic_state(self) -> TopicState:
        if self._topic_state is None:
            raise RuntimeError("a follower works only after begin()")
        return self._topic_state

    def _apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: Checkpoint
    ) -> None:
        self.store.apply(puts, deletes, encode_checkpoint(checkpoint))
