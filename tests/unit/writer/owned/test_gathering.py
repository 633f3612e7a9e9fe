from __future__ import annotations

import pytest

from lastword.writer.owned.gathering import GATHER_MAX_S, GATHER_S, TRY_AGAIN, GatherTarget


def gathering(last: int, *, in_time: bool = True) -> GatherTarget:
    made = GatherTarget()
    made.took(last, in_time=in_time)
    return made


def test_a_single_caller_never_waits_for_others() -> None:
    assert GatherTarget().next(0, 0.001).requests == 0
    assert gathering(1).next(0, 0.001).requests == 1


def test_a_batch_waits_for_everybody_who_was_answered_and_everybody_who_waits() -> None:
    assert gathering(20).next(12, 0.001).requests == 32


def test_it_waits_for_half_of_them_once_they_did_not_come_in_time() -> None:
    slow = gathering(20, in_time=False)
    assert slow.next(12, 0.001).requests == 16
    assert slow.next(13, 0.001).requests == 17


def test_after_some_batches_it_tries_to_wait_for_all_again() -> None:
    slow = gathering(8, in_time=False)
    for _ in range(TRY_AGAIN):
        assert slow.next(8, 0.001).requests == 8
        slow.took(8, in_time=True)
    assert slow.next(8, 0.001).requests == 16


def test_one_request_that_came_alone_says_nothing_about_the_others() -> None:
    assert gathering(1, in_time=False).next(5, 0.001).requests == 6


@pytest.mark.parametrize(
    ("took_s", "longest_s"), [(0.0, GATHER_S), (0.003, 0.003), (9.0, GATHER_MAX_S)]
)
def test_it_waits_no_longer_than_a_batch_takes(took_s: float, longest_s: float) -> None:
    assert gathering(4).next(0, took_s).longest_s == longest_s


def test_callers_that_prepare_their_next_request_still_count() -> None:
    slow = gathering(20, in_time=False)
    assert slow.next(12, 0.001).requests == 16
    slow.took(16, in_time=True)
    assert slow.next(2, 0.001).requests == 14, "most of the 32 are neither answered nor waiting"


def test_callers_that_left_are_forgotten() -> None:
    slow = gathering(20, in_time=False)
    slow.next(12, 0.001)
    for _ in range(TRY_AGAIN - 1):
        slow.took(1, in_time=True)
        wanted = slow.next(0, 0.001).requests
    assert wanted == 1
