"""How long a store may have been behind before a tombstone can have been missed.

Kafka keeps a tombstone at least ``delete.retention.ms`` after it was first cleaned. A store
that was caught up less than that ago has seen, or will still see, every delete. One that was
behind for longer may have missed some and must be swept.
"""

from __future__ import annotations

LIVE_FLOOR_MS = 3_000
"""A live table learns where the end of its log is about once a second; a retention shorter than
a few of those states cannot be distinguished from being caught up."""

SWEEP_INTERVAL_MS = 60_000
"""Sweeps of one partition are at least this far apart, however short the retention."""

CLOCK_MARGIN_MS = 60_000
"""How far the clocks of brokers and clients may be apart at most; see ``safe_window_ms``."""


def safe_window_ms(delete_retention_ms: int) -> int:
    """The longest absence that certainly missed nothing: the retention less a tenth or a minute."""
    return max(0, delete_retention_ms - min(delete_retention_ms // 10, CLOCK_MARGIN_MS))


def may_have_missed_deletes(behind_for_ms: int, delete_retention_ms: int) -> bool:
    """Whether a tombstone can have been written and cleaned away in that time.

    A negative age means that the clock was set back: then it is possible.
    """
    clock_set_back = behind_for_ms < -LIVE_FLOOR_MS
    return clock_set_back or behind_for_ms >= safe_window_ms(delete_retention_ms)


def live_lag_too_long(behind_for_ms: int, delete_retention_ms: int) -> bool:
    """The same for a live table, which cannot judge absences shorter than the floor."""
    return may_have_missed_deletes(behind_for_ms, max(delete_retention_ms, LIVE_FLOOR_MS))


def untouched_since_ms(now_ms: int, compaction_lag_ms: int) -> int | None:
    """From which record time on the cleaner cannot have been there; with a margin for clocks.

    Kafka's cleaner skips every segment with a record younger than ``min.compaction.lag.ms``, and
    all later segments. None if the topic has no such protection.
    """
    if compaction_lag_ms <= 0:
        return None
    return now_ms - compaction_lag_ms + lag_margin_ms(compaction_lag_ms)


def lag_margin_ms(compaction_lag_ms: int) -> int:
    """The safety margin of the lag: a tenth or a minute."""
    return min(compaction_lag_ms // 10, CLOCK_MARGIN_MS)
