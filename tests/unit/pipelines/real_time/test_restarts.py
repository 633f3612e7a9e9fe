"""A job that fails is started again a limited number of times, and never for what stays wrong."""

from __future__ import annotations

import itertools

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
def test_errors_that_a_retry_cannot_fix_are_raised_at_once(error: Exception) -> None:
    assert Restarts(FakeClock()).pause_after(error) is None


NUMBERS = itertools.count()


def raised(line: str) -> RuntimeError:
    """As Spark tells of an error in a task, with numbers of its own in it."""
    java = f"org.apache.spark.SparkException: Task 0 in stage {next(NUMBERS)}.0 failed"
    text = f"{java}\nTraceback (most recent call last):\n  File x\n{line}\n\n{java}\n"
    return RuntimeError(text)


@pytest.mark.parametrize("line", ["ValueError: seven", "lastword.errors.DecodeError: not json"])
def test_the_same_error_over_and_over_is_not_tried_for_long(line: str) -> None:
    restarts = Restarts(FakeClock())
    assert restarts.pause_after(raised("KeyError: 'name'")) == 0.5
    assert restarts.pause_after(raised(line)) == 1.0
    assert restarts.pause_after(raised(line)) is None


def test_a_cluster_that_does_not_answer_is_given_every_attempt() -> None:
    restarts = Restarts(FakeClock())
    lost = raised("lastword.errors.ConnectionFailedError: nobody answers")
    pauses = [restarts.pause_after(lost) for _ in range(RESTARTS_MAX + 1)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, None]
