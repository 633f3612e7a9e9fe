"""Until when a store has certainly missed no delete, and how fresh that knowledge is.

The times that a checkpoint keeps are wall time, because they must outlive the process. The time
since the cluster's last answer is monotonic.
"""

from __future__ import annotations

from typing import NamedTuple

from lastword.clock import Clock
from lastword.replicas.sweep.retention import (
    CLOCK_MARGIN_MS,
    live_lag_too_long,
    may_have_missed_deletes,
)

CONTACT_MAX_S = 10.0
"""Reads are stale once the cluster has not answered for this long: newer writes may
exist. The topic's state is asked for about once a second."""


class Freshness(NamedTuple):
    """How current a read is: whether it may be out of date, and how long ago the cluster last
    answered."""

    stale: bool
    contact_age_s: float


EXACT = Freshness(stale=False, contact_age_s=0.0)
"""The freshness of a past state: later changes do not affect it."""


class Soundness:
    """What one partition may claim about its rows.

    ``caught_up_at_ms`` does not advance while the store is behind or waits for a sweep, so that its
    age is exactly how long deletes may have been missed.
    """

    def __init__(self, clock: Clock) -> None:
        self.sweep_due = False
        self.retention_ms = 0
        self.caught_up_at_ms = 0
        self.at_end_ms = 0
        self._expired_at_ms = 0
        self._clock = clock
        self._contact_s = 0.0
        self._swept_from_ms: int | None = None
        self._longest_lag_ms = 0
        self._unreached: tuple[int, int] | None = None

    def begin(self, *, caught_up_at_ms: int, retention_ms: int, at_end_ms: int) -> None:
        """A restore begins, with an end of the log that was captured at ``at_end_ms``."""
        self.sweep_due = False
        self.caught_up_at_ms = caught_up_at_ms
        self.retention_ms = retention_ms
        self.at_end_ms = at_end_ms
        self._swept_from_ms = self._unreached = None
        self.answered(at_end_ms)

    @property
    def contact_age_s(self) -> float:
        """For how long the cluster has not answered."""
        return self._clock.monotonic() - self._contact_s

    @property
    def lagging(self) -> bool:
        """Whether a delete may have been missed since the end of the log was last reached."""
        return live_lag_too_long(self._clock.now_ms() - self.at_end_ms, self.retention_ms)

    def answered(self, asked_at_ms: int) -> None:
        """The cluster answered a question that was asked then."""
        age_s = max(0, self._clock.now_ms() - asked_at_ms) / 1000
        self._contact_s = max(self._contact_s, self._clock.monotonic() - age_s)

    def go_live(self, retention_ms: int) -> None:
        """The captured end is reached: check how long that took."""
        behind_for_ms = self._clock.now_ms() - self.caught_up_at_ms
        self.sweep_due = may_have_missed_deletes(behind_for_ms, self.retention_ms)
        if not self.sweep_due:
            self._mark_sound(retention_ms)

    def reach(self, at_ms: int, retention_ms: int) -> None:
        """Everything that was in the log at ``at_ms`` has been read; now ``retention_ms`` holds."""
        if self._swept_from_ms is not None:
            lag_ms = self._clock.now_ms() - max(self.at_end_ms, self._swept_from_ms)
            self._longest_lag_ms = max(self._longest_lag_ms, lag_ms)
        self.at_end_ms = at_ms
        if not self.sweep_due:
            self._mark_sound(retention_ms)

    def observe_end(self, end: int, at_ms: int, read_up_to: int, retention_ms: int) -> None:
        """The log of a live store ended at ``end`` at that time, and is read up to there."""
        ahead = self._unreached
        if read_up_to >= end:
            self.reach(at_ms, retention_ms)
            self._unreached = None
        elif ahead is None:
            self._unreached = (end, at_ms)
        elif read_up_to >= ahead[0]:
            # A busy table is behind this end and yet past an earlier one.
            self.reach(ahead[1], retention_ms)
            self._unreached = (end, at_ms)

    def on_expiry(self) -> None:
        """Rows were dropped that no tombstone deleted.

        Other instances drop them a little earlier or later, by clocks that differ a little.
        """
        self._expired_at_ms = self._clock.now_ms() + CLOCK_MARGIN_MS

    def may_have_lost_deletes_since(self, at_ms: int) -> bool:
        """Whether a key that was deleted after ``at_ms`` may have no tombstone in the log."""
        gone = may_have_missed_deletes(self._clock.now_ms() - at_ms, self.retention_ms)
        return gone or at_ms < self._expired_at_ms

    def check_lag(self) -> None:
        """Detect that a live store has lagged for too long, even if no broker answers."""
        behind_for_ms = self._clock.now_ms() - self.caught_up_at_ms
        self.sweep_due = self.sweep_due or live_lag_too_long(behind_for_ms, self.retention_ms)

    def sweep_begins(self, at_ms: int) -> None:
        """From now on no lag may be too long, or the sweep proves nothing."""
        self._swept_from_ms, self._longest_lag_ms = at_ms, 0

    def swept(self, at_ms: int, duration_ms: int, dropped: int, retention_ms: int) -> bool:
        """A pass over the log below the position of ``at_ms`` is done; whether it is trusted.

        It is if it was fast enough or found nothing, and the store never lagged for too long
        since it began. Every row's record was then in the log at ``at_ms`` or later: the rows below
        by this pass, those above because they were read since. So no tombstone of theirs can be
        gone sooner than the retention after that.
        """
        fast = not may_have_missed_deletes(duration_ms, self.retention_ms)
        sound_at_ms = max(self.at_end_ms, at_ms)
        lag_ms = max(self._longest_lag_ms, self._clock.now_ms() - sound_at_ms)
        self._swept_from_ms = None
        if not (fast or dropped == 0) or live_lag_too_long(lag_ms, self.retention_ms):
            return False
        self.sweep_due = False
        self.at_end_ms = sound_at_ms
        self._mark_sound(retention_ms)
        return True

    def _mark_sound(self, retention_ms: int) -> None:
        self.caught_up_at_ms = self.at_end_ms
        self.retention_ms = retention_ms
