"""Windows over event time, as Kafka Streams defines them: tumbling, hopping, sessions.

Stream time is the largest timestamp that a partition has seen so far, record by record. A window
closes once stream time is ``grace`` past its end. A record for a closed window is late: it is
dropped and counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from lastword.codecs.resolve import CodecSpec
from lastword.codecs.windowed import SessionCodec, WindowedCodec, windowed
from lastword.codecs.windowed import session as session_key
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError

DEFAULT_RETENTION_MS = 86_400_000


class Windows(ABC):
    """The common format of window rows in a store: a key, then times."""

    suffix_bytes: ClassVar[int]

    @property
    @abstractmethod
    def described(self) -> str:
        """A short description, for the topology."""

    @property
    @abstractmethod
    def open_ms(self) -> int:
        """The maximum stream time from a record to the end of its window's grace."""

    @abstractmethod
    def closes_at_ms(self, row: bytes) -> int:
        """The first stream time at which the window of ``row`` accepts no more records."""

    @abstractmethod
    def last_ms(self, row: bytes) -> int:
        """The last time that the window of ``row`` covers."""

    @abstractmethod
    def key_codec(self, key: CodecSpec) -> WindowedCodec | SessionCodec:
        """The codec of the rows, given that of their keys."""


@dataclass(frozen=True, slots=True)
class TimeWindows(Windows):
    """Windows of ``size_ms`` that start every ``advance_ms``; if both are equal, tumbling."""

    suffix_bytes: ClassVar[int] = WindowedCodec.suffix_bytes

    size_ms: int
    advance_ms: int
    grace_ms: int

    @property
    def described(self) -> str:
        """Kind, size, advance and grace.

        >>> hopping("60s", "20s", grace=5).described
        'hopping windows of 60s every 20s, grace 5ms'
        """
        if self.advance_ms == self.size_ms:
            return f"tumbling windows of {_short(self.size_ms)}{_and_grace(self.grace_ms)}"
        every = f"of {_short(self.size_ms)} every {_short(self.advance_ms)}"
        return f"hopping windows {every}{_and_grace(self.grace_ms)}"

    @property
    def open_ms(self) -> int:
        """The size and the grace."""
        return self.size_ms + self.grace_ms

    def start_ms(self, row: bytes) -> int:
        """The first time that the window of ``row`` covers."""
        return _time_at(row, -8)

    def closes_at_ms(self, row: bytes) -> int:
        """Grace after its end."""
        return self.start_ms(row) + self.size_ms + self.grace_ms

    def last_ms(self, row: bytes) -> int:
        """Just before its end."""
        return self.start_ms(row) + self.size_ms - 1

    def key_codec(self, key: CodecSpec) -> WindowedCodec:
        """As Kafka's TimeWindowedSerializer."""
        return windowed(key, self.size_ms)

    def starts(self, timestamp_ms: int) -> range:
        """The starts of the windows that contain this time, in order."""
        first = max(0, timestamp_ms - self.size_ms + self.advance_ms)
        return range(first - first % self.advance_ms, timestamp_ms + 1, self.advance_ms)


@dataclass(frozen=True, slots=True)
class SessionWindows(Windows):
    """Sessions: a key's records with at most ``gap_ms`` between neighbors.

    A session starts and ends at the times of its first and last record. It closes once stream time
    is gap and grace past the last one.
    """

    suffix_bytes: ClassVar[int] = SessionCodec.suffix_bytes

    gap_ms: int
    grace_ms: int

    @property
    def described(self) -> str:
        """Gap and grace."""
        return f"sessions with a gap of {_short(self.gap_ms)}{_and_grace(self.grace_ms)}"

    @property
    def open_ms(self) -> int:
        """The gap and the grace."""
        return self.gap_ms + self.grace_ms

    def closes_at_ms(self, row: bytes) -> int:
        """Gap and grace after its last record."""
        return _time_at(row, -16) + self.gap_ms + self.grace_ms

    def last_ms(self, row: bytes) -> int:
        """The time of its last record."""
        return _time_at(row, -16)

    def key_codec(self, key: CodecSpec) -> SessionCodec:
        """As Kafka's SessionWindowedSerializer."""
        return session_key(key)


def tumbling(size: Duration, *, grace: Duration = 0) -> TimeWindows:
    """Adjacent windows: every record falls into exactly one.

    >>> list(tumbling("60s").starts(125_000))
    [120000]
    """
    size_ms = _positive(size, "the size of a window")
    return TimeWindows(size_ms, size_ms, milliseconds(grace, what="grace"))


def hopping(size: Duration, advance: Duration, *, grace: Duration = 0) -> TimeWindows:
    """Overlapping windows: a record falls into each one that contains its time.

    >>> list(hopping("60s", "20s").starts(125_000))
    [80000, 100000, 120000]
    """
    size_ms = _positive(size, "the size of a window")
    advance_ms = _positive(advance, "the advance of a window")
    if advance_ms > size_ms:
        raise ConfigError(
            f"an advance of {advance_ms} ms leaves gaps between windows of {size_ms} ms",
            hint="the advance must not exceed the size",
        )
    return TimeWindows(size_ms, advance_ms, milliseconds(grace, what="grace"))


def session(gap: Duration, *, grace: Duration = 0) -> SessionWindows:
    """Sessions: a key's records with at most ``gap`` between neighbors.

    >>> session("5m", grace="30s").open_ms
    330000
    """
    gap_ms = _positive(gap, "the gap between sessions")
    return SessionWindows(gap_ms, milliseconds(grace, what="grace"))


def retention_of(windows: Windows, retention: Duration | None) -> int:
    """How long closed windows stay in the table; raises ConfigError if they could not close."""
    least_ms = windows.open_ms
    if retention is None:
        return max(DEFAULT_RETENTION_MS, least_ms)
    retention_ms = milliseconds(retention, what="retention")
    if retention_ms < least_ms:
        raise ConfigError(
            f"a retention of {retention_ms} ms is less than window and grace, {least_ms} ms",
            hint="raise retention, or lower the window's size, gap or grace",
        )
    return retention_ms


def _positive(duration: Duration, what: str) -> int:
    length_ms = milliseconds(duration, what=what)
    if length_ms == 0:
        raise ConfigError(f"{what} cannot be zero", hint="write it with a unit: 60s")
    return length_ms


def _time_at(row: bytes, place: int) -> int:
    """A time in a row, at eight bytes counted from its end."""
    return int.from_bytes(row[place : place + 8 or None], "big")


def _short(ms: int) -> str:
    return f"{ms}ms" if ms % 1000 else f"{ms // 1000}s"


def _and_grace(grace_ms: int) -> str:
    return f", grace {_short(grace_ms)}" if grace_ms else ""
