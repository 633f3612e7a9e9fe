"""A job that fails is started again a limited number of times, and never for what stays wrong."""

from __future__ import annotations

import pytest

from lastword.errors import FencedError
from lastword.pipelines.real_time.restarts import RESTARTS_MAX, WITHIN_S, Restarts
from lastword.testing.fake_clock import FakeClock


def test_pauses_double_until_it_gives_up() -> None:
    restarts = Restarts(FakeClock())
    pauses = [restarts.pause_after(RuntimeError("lost")) for _ in range(RESTARTS_MAX + 1)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, None]


def test_failures_of_long_ago_do_not_count() -> None:
    clock = FakeClock()
    restarts = Restarts(clock)
    for _ in range(3 * RESTARTS_MAX):
        assert restarts.pause_after(RuntimeError("lost")) == 0.5
        clock.advance(seconds=WITHIN_S)


@pytest.mark.parametrize(
    "error",
    [
        FencedError("replaced"),
        RuntimeError("Traceback\nlastword.errors.PartitionCountError: 3 partitions"),
        RuntimeError("ModuleNotFoundError: No module named 'mine'"),
    ],
)
def test_what_another_attempt_cannot_mend_is_raised_at_once(error: Exception) -> None:
    assert Restarts(FakeClock()).pause_after(error) is None
