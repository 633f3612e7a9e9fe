"""Snapshots at an interval, counted from start to start."""

from __future__ import annotations

import threading

from lastword.snapshots.jobs.snapshot_runs import repeat
from lastword.testing.fake_clock import FakeClock


class StoppedAfter(threading.Event):
    """Takes no time to wait; remembers for how long, and is set after so many waits."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._left = waits

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        self._left -= 1
        if not self._left:
            self.set()
        return self.is_set()


def test_the_interval_is_counted_from_start_to_start() -> None:
    clock, stopping = FakeClock(), StoppedAfter(3)
    durations = iter([1.0, 0.0, 25.0])
    repeat(lambda: clock.advance(seconds=next(durations)), 10.0, stopping, clock)
    assert stopping.waits == [9.0, 10.0, 0.0]


def test_nothing_is_taken_once_stopping() -> None:
    stopping, taken = threading.Event(), list[int]()
    stopping.set()
    repeat(lambda: taken.append(1), 10.0, stopping)
    assert not taken
