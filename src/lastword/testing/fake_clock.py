"""A clock that stands still until a test moves it."""

from __future__ import annotations


class FakeClock:
    """Wall and monotonic time that only ``advance`` and ``sleep`` move.

    >>> clock = FakeClock(now_ms=1_000)
    >>> clock.advance(seconds=2.5)
    >>> clock.now_ms(), clock.monotonic()
    (3500, 2.5)
    """

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic = 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self._now_ms

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.advance(seconds=seconds)

    def advance(self, *, seconds: float) -> None:
        """Let time pass."""
        self._now_ms += round(seconds * 1000)
        self._monotonic += seconds

    def set_back(self, *, seconds: float) -> None:
        """Set the wall clock back, as a person or NTP may; monotonic time does not change."""
        self._now_ms -= round(seconds * 1000)
