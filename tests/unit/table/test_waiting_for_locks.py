"""A lock that is taken: its waiter follows the log instead of asking its owner."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.errors import LeaseHeldError
from lastword.table.writing.held_leases import HeldLease
from lastword.table.writing.locks import Lock
from lastword.testing.fake_clock import FakeClock
from lastword.writer.owned.requests import Denied

HELD_S = 30.0
TTL_S = 10.0


class Leases:
    """A lease that another holder renews until ``free_at``; ``behind``: not known here yet."""

    def __init__(self, clock: FakeClock, free_at: float, *, behind: bool = False) -> None:
        self.asked_at: list[float] = []
        self.held = self
        self._clock, self._free_at, self._behind = clock, free_at, behind

    def acquire(self, key: bytes, holder: str, ttl_ms: int, timeout_s: float) -> HeldLease | Denied:
        now = self._clock.monotonic()
        self.asked_at.append(now)
        if now < self._free_at:
            return Denied("another", int(TTL_S * 1000))
        return HeldLease(key, holder, 7, TTL_S, now + TTL_S, now + TTL_S / 3)

    def wait_until_released(self, key: bytes, timeout_s: float) -> bool:
        if not self._behind:
            left_s = max(0.0, self._free_at - self._clock.monotonic())
            self._clock.advance(seconds=min(timeout_s, left_s))
        return not self._behind


def lock_of(leases: Leases, clock: FakeClock, wait: str) -> Lock:
    opened: Any = leases
    return Lock(lambda: opened, "job", ttl="10s", wait=wait, clock=clock)


def test_a_waiter_asks_when_the_lock_is_released_and_hardly_before() -> None:
    clock = FakeClock()
    leases = Leases(clock, free_at=HELD_S)
    assert lock_of(leases, clock, "60s").acquire() == 7
    assert clock.monotonic() == pytest.approx(HELD_S), "no pause after the release"
    assert len(leases.asked_at) <= HELD_S + 2, "about once a second"


def test_a_waiter_whose_copy_is_behind_asks_after_a_pause() -> None:
    clock = FakeClock()
    leases = Leases(clock, free_at=1.0, behind=True)
    assert lock_of(leases, clock, "60s").acquire() == 7
    assert 10 <= len(leases.asked_at) <= 30


def test_a_waiter_gives_up_when_its_time_is_over() -> None:
    clock = FakeClock()
    leases = Leases(clock, free_at=HELD_S)
    with pytest.raises(LeaseHeldError):
        lock_of(leases, clock, "5s").acquire()
    assert clock.monotonic() == pytest.approx(5.0)
