"""Builds the pasts of one partition's keys, and tracks from where on they are complete.

Compaction may remove a change before it is read. Offsets without a gap prove that none was. A gap
may be compaction or only the marker of a transaction; it is harmless if a record before it is
younger than ``min.compaction.lag.ms``, because the cleaner does not touch it. Any other gap may
hide a change whose successor was already in the log. So the past is known again only from an end of
the log that was asked for after the gap was read.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from lastword.clock import Clock
from lastword.lazy_numpy import np
from lastword.records import FENCE_KEY, Batch
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.sweep.retention import untouched_since_ms
from lastword.replicas.versions.past_coverage import PastCoverage
from lastword.replicas.versions.versions import (
    NO_PAST,
    KeyVersion,
    VersionLimit,
    decode_past,
    encode_past,
    is_in_order,
    past_after,
    past_with_time,
    versions_of,
)
from lastword.stores.versioned import NO_CHANGES, PastChanges, VersionedStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_NOT_YET_MS = (1 << 63) - 1
_EXPIRED_AT_ONCE = 5_000
_EXPIRE_EVERY_MS_MAX = 600_000


class PastBuilder:
    """Collects the changes of each batch and works them into the pasts of their keys.

    On the tailing thread only; ``coverage`` and ``store`` are for readers that hold its lock.
    """

    def __init__(
        self, store: VersionedStore, record_filter: RecordFilter, keep: VersionLimit, clock: Clock
    ) -> None:
        self.store = store
        self.coverage = PastCoverage()
        self._filter = record_filter
        self._keep = keep
        self._clock = clock
        self._changes: dict[bytes, list[KeyVersion]] = {}
        self._untracked: set[bytes] = set()
        self._expire_from = b""
        self._expire_at_ms = 0
        self._expired = NO_CHANGES

    def begin(self, coverage: PastCoverage) -> None:
        """Continue from a checkpoint, or from nothing."""
        self.coverage = coverage
        self._changes, self._untracked, self._expired = {}, set(), NO_CHANGES
        self._expire_from = b""
        self._expire_at_ms = self._clock.now_ms() + self._expire_every_ms

    def see_lag(self, lag_ms: int, at_ms: int) -> None:
        """The topic's ``min.compaction.lag.ms`` at that time.

        A raised setting protects only later records: Kafka does not record when it was raised, and
        the cleaner may have run under the smaller one.
        """
        if lag_ms > self.coverage.lag_ms:
            self._update_coverage(lag_ms=lag_ms, lag_since_ms=at_ms)
        elif lag_ms < self.coverage.lag_ms:
            self._update_coverage(lag_ms=lag_ms)

    def take(self, batch: Batch, expected: int) -> None:
        """Collect the changes of a batch; ``expected`` is the offset that comes next.

        While the past is incomplete nothing is collected: each key starts over with the row that it
        has once the past is complete. So a restore from a compacted log costs almost nothing more.
        """
        if batch.next_offset - expected != len(batch):
            self._meet_gap(batch, expected)
        if self.coverage.gap_at_ms is None:
            self._collect(batch)
        else:
            self._untracked.update(key for key in batch.keys if key)
            self._untracked.discard(FENCE_KEY)
        self._update_coverage(time_ms=self._time_after(batch.timestamps))
        self._reach(batch.next_offset)

    def _collect(self, batch: Batch) -> None:
        changes, rules = self._changes, self._filter.rules
        for change in batch.row_changes(rules, self.coverage.time_ms, self._filter.validate):
            version = KeyVersion(change.offset, change.seen_from_ms, change.row)
            changes.setdefault(change.key, []).append(version)

    def pass_by(self, offset: int, expected: int) -> None:
        """The log was read up to ``offset``, without a record from ``expected`` on."""
        if offset > expected and not self._untouched(self.coverage.time_ms):
            self.lose_track()
        self._reach(offset)

    def lose_track(self) -> None:
        """A change may have been missed."""
        if self.coverage.gap_at_ms is None:
            log.info("a gap in the log: past values are unknown until its end is reached")
            self._untracked.update(self._changes)
            self._changes = {}
        self._update_coverage(gap_at_ms=self._clock.now_ms())

    def confirm_end(self, end: int, position: int) -> None:
        """The log ended at ``end`` after the last gap was read: what follows is known.

        But not before ``position``: nothing was collected up to there.
        """
        if self.coverage.gap_at_ms is not None:
            complete_from = max(end, position)
            self._update_coverage(
                complete_from=complete_from, complete_since_ms=_NOT_YET_MS, gap_at_ms=None
            )
            self._reach(position)

    def settle(self, deletes: Collection[bytes], position: int) -> PastChanges:
        """The changed pasts, from all collected changes and these ``deletes``."""
        changes, self._changes = self._changes, {}
        expired, self._expired = self._expired, NO_CHANGES
        written, removed = dict(expired.puts), list(expired.deletes)
        added, now_ms = expired.added, self._clock.now_ms()
        dropped = [key for key in deletes if key not in changes and key not in self._untracked]
        if self.coverage.gap_at_ms is not None:
            self._untracked.update(dropped)
        else:
            # Gone without a tombstone, like an expired row: from here on.
            gone = KeyVersion(position - 1, max(now_ms, self.coverage.time_ms), None)
            changes.update({key: [gone] for key in dropped})
        keys = list(changes)
        for key, (row, stored) in zip(keys, self.store.versions(keys), strict=True):
            new = changes[key]
            if row is None and stored is None and len(new) == 1 and is_in_order(new[0]):
                continue  # a new key, as most are in a restore: nothing was before it
            past = past_after(row, decode_past(stored), new, self._keep, now_ms)
            if past != NO_PAST:
                written[key] = encode_past(past)
                added += stored is None
            elif stored is not None:
                removed.append(key)
                added -= 1
        restarted = self._restarted()
        return PastChanges(written, removed + restarted, added - len(restarted))

    def _restarted(self) -> list[bytes]:
        """The pasts to remove of keys that changed while the past was not known."""
        keys, self._untracked = list(self._untracked), set()
        if not keys or not self.store.pasts:
            return []
        both = zip(keys, self.store.versions(keys), strict=True)
        return [key for key, (_, stored) in both if stored is not None]

    def expire(self) -> bool:
        """Check the next pasts in turn; True if ``settle`` has something to write.

        Old versions are dropped. A key with nothing left to remember loses its past, and
        ``coverage`` says until when. Only between two batches: nothing may wait to be settled.
        """
        now_ms = self._clock.now_ms()
        if now_ms < self._expire_at_ms:
            return False
        keys = self.store.keys_with_past(self._expire_from, _EXPIRED_AT_ONCE)
        if len(keys) == _EXPIRED_AT_ONCE:
            self._expire_from = keys[-1] + b"\0"
        else:
            self._expire_from, self._expire_at_ms = b"", now_ms + self._expire_every_ms
        written: dict[bytes, bytes] = {}
        removed: list[bytes] = []
        for key, (row, stored) in zip(keys, self.store.versions(keys), strict=True):
            past = past_with_time(row, decode_past(stored), self._keep, now_ms)
            last = versions_of(row, past)[-1]
            # A row that came late keeps its past: that alone knows when it was seen.
            needless = row is None or (not past.older and past.current_from_ms is None)
            if needless and self._is_over(last, now_ms):
                removed.append(key)
                self._update_coverage(
                    forgotten_below=max(self.coverage.forgotten_below, last.offset + 1),
                    forgotten_until_ms=max(self.coverage.forgotten_until_ms, last.seen_from_ms),
                )
            elif (encoded := encode_past(past)) != stored:
                written[key] = encoded
        self._expired = PastChanges(written, removed, -len(removed))
        return bool(written or removed)

    @property
    def _expire_every_ms(self) -> int:
        """A pass sorts the keys of a memory store, so there are few; a twentieth is late enough."""
        return min(self._keep.deleted_ms // 20, _EXPIRE_EVERY_MS_MAX)

    def _is_over(self, last: KeyVersion, now_ms: int) -> bool:
        """Whether the versions before a key's last one can be dropped."""
        if last.row is None:
            return last.seen_from_ms <= now_ms - self._keep.deleted_ms
        period_ms = self._keep.period_ms
        return period_ms is not None and last.seen_from_ms <= now_ms - period_ms

    def _meet_gap(self, batch: Batch, expected: int) -> None:
        offsets = batch.offsets
        without_gap = offsets == np.arange(expected, expected + len(offsets))
        before = len(offsets) if without_gap.all() else int(without_gap.argmin())
        if not self._untouched(self._time_after(batch.timestamps[:before])):
            self.lose_track()

    def _time_after(self, timestamps: NDArray[np.int64]) -> int:
        """The latest time once records of these have been read."""
        return int(timestamps.max(initial=self.coverage.time_ms))

    def _untouched(self, time_ms: int) -> bool:
        """Whether the cleaner cannot have been where a record of that time is, or after it."""
        since_ms = untouched_since_ms(self._clock.now_ms(), self.coverage.lag_ms)
        return since_ms is not None and time_ms >= max(since_ms, self.coverage.lag_since_ms)

    def _reach(self, position: int) -> None:
        coverage = self.coverage
        if coverage.complete_since_ms == _NOT_YET_MS and position >= coverage.complete_from:
            # Not only the latest timestamp read: one that was missed may be later than that.
            self._update_coverage(complete_since_ms=max(coverage.time_ms, self._clock.now_ms()))

    def _update_coverage(self, **changes: int | None) -> None:
        self.coverage = msgspec.structs.replace(self.coverage, **changes)
