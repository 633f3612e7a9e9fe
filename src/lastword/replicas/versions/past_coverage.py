"""For which moments the past of a partition is complete; kept inside its checkpoint."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from lastword.replicas.versions.versions import KeyPast, KeyVersion, VersionCut, at_cut, versions_of

NEVER_MS = -(1 << 63)


class PastCoverage(msgspec.Struct, frozen=True, array_like=True):
    """For which moments the past of a partition is complete; a part of its checkpoint.

    ``time_ms`` is the latest timestamp read. Every moment from ``complete_from`` on, or since
    ``complete_since_ms``, can be answered, unless a gap was read at ``gap_at_ms`` and the end of
    the log has not been looked up since. Keys without a past may have lost one that ended below
    ``forgotten_below``, or until ``forgotten_until_ms``. No topic state since ``lag_since_ms`` had
    a ``min.compaction.lag.ms`` smaller than ``lag_ms``.
    """

    time_ms: int = NEVER_MS
    complete_from: int = 0
    complete_since_ms: int = NEVER_MS
    gap_at_ms: int | None = None
    forgotten_below: int = 0
    forgotten_until_ms: int = NEVER_MS
    lag_ms: int = 0
    lag_since_ms: int = NEVER_MS

    def covers(self, cut: VersionCut) -> bool:
        """Whether every change around that moment was seen."""
        if self.gap_at_ms is not None:
            return False
        if cut.below is not None:
            return cut.below >= self.complete_from
        return (cut.until_ms or 0) >= self.complete_since_ms

    def covers_absence(self, cut: VersionCut) -> bool:
        """Whether a key without versions of that moment did not exist then."""
        if cut.below is not None:
            return cut.below >= self.forgotten_below
        return (cut.until_ms or 0) >= self.forgotten_until_ms


class NotCovered(NamedTuple):
    """The moment is not covered; the earliest one that is, as an offset and as a time."""

    below: int
    since_ms: int


def version_at(
    cut: VersionCut, coverage: PastCoverage, row: bytes | None, past: KeyPast
) -> KeyVersion | NotCovered | None:
    """A key's value at a moment, None if it was absent; never a guess."""
    if not coverage.covers(cut):
        return NotCovered(coverage.complete_from, coverage.complete_since_ms)
    version = at_cut(cut, row, past)
    if version is not None:
        return version
    kept = versions_of(row, past)
    # Older ones were dropped; or they were never seen, as those of a snapshot's rows.
    if kept and (not past.whole or kept[0].offset < coverage.complete_from):
        return NotCovered(kept[0].offset + 1, kept[0].seen_from_ms)
    if not coverage.covers_absence(cut):
        return NotCovered(coverage.forgotten_below, coverage.forgotten_until_ms)
    return None
