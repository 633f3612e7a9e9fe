"""Windows over event time, as Kafka Streams defines them.

Stream time is the largest timestamp a partition has seen so far, record by record. A window is
closed once its end lies ``grace`` or more behind it; a record for a closed window is late: it
is dropped and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from lastword.errors import ConfigError
from lastword.pipelines.durations import Duration, milliseconds

DEFAULT_RETENTION_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Windows of ``size_ms`` that start every ``advance_ms``; both the same is tumbling."""

    size_ms: int
    advance_ms: int
    grace_ms: int

    def starts(self, timestamp_ms: int) -> range:
        """The starts of the windows that a record of this time falls into, in order."""
        first = max(0, timestamp_ms - self.size_ms + self.advance_ms)
        return range(first - first % self.advance_ms, timestamp_ms + 1, self.advance_ms)

    def closed(self, start_ms: int, stream_time_ms: int) -> bool:
        """Whether the window takes no more records."""
        return start_ms + self.size_ms <= stream_time_ms - self.grace_ms


def tumbling(size: Duration, *, grace: Duration = 0) -> TimeWindows:
    """Windows side by side: every record falls into exactly one.

    >>> list(tumbling("60s").starts(125_000))
    [120000]
    """
    size_ms = _positive(size, "the size of a window")
    return TimeWindows(size_ms, size_ms, milliseconds(grace, what="grace"))


def hopping(size: Duration, advance: Duration, *, grace: Duration = 0) -> TimeWindows:
    """Overlapping windows: a record falls into each that covers its time.

    >>> list(hopping("60s", "20s").starts(125_000))
    [80000, 100000, 120000]
    """
    size_ms = _positive(size, "the size of a window")
    advance_ms = _positive(advance, "the advance of a window")
    if advance_ms > size_ms:
        raise ConfigError(
            f"an advance of {advance_ms} ms leaves gaps between windows of {size_ms} ms",
            hint="the advance is at most the size",
        )
    return TimeWindows(size_ms, advance_ms, milliseconds(grace, what="grace"))


def retention_of(windows: TimeWindows, retention: Duration | None) -> int:
    """How long closed windows stay in the table; refused when windows would not live to close."""
    least_ms = windows.size_ms + windows.grace_ms
    if retention is None:
        return max(DEFAULT_RETENTION_MS, least_ms + 1)
    retention_ms = milliseconds(retention, what="retention")
    if retention_ms <= least_ms:
        raise ConfigError(
            f"a retention of {retention_ms} ms must exceed window and grace, {least_ms} ms",
            hint="raise retention, or lower the window's size or grace",
        )
    return retention_ms


def _positive(duration: Duration, what: str) -> int:
    length_ms = milliseconds(duration, what=what)
    if length_ms == 0:
        raise ConfigError(f"{what} cannot be zero", hint="write it with a unit: 60s")
    return length_ms
