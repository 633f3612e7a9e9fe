"""The only place that reads the time, so that tests can replace it."""

from __future__ import annotations

import time
from typing import Protocol

# Linux stops CLOCK_MONOTONIC while it is suspended; other systems have only that clock.
_BOOT_TIME: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Wall time for what is stored, monotonic time for what is waited for."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go backwards, and advance while the machine is suspended."""

    def sleep(self, seconds: float) -> None:
        """Wait; never used where a condition can be waited for."""


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go backwards; a lease must not outlive a suspended machine."""
        return time.clock_gettime(_BOOT_TIME)

    def sleep(self, seconds: float) -> None:
        """Wait on this machine's clock."""
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
