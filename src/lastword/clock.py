"""The only place that asks what time it is, so that tests can answer instead."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is stored, monotonic time for what is waited for."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""

    def sleep(self, seconds: float) -> None:
        """Wait; never used to synchronise with something that can be waited for."""


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait on this machine's clock."""
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
