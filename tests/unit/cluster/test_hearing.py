"""Whether the brokers answer an instance, and when it believes others that say they are deaf."""

from __future__ import annotations

import threading

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.cluster.hearing import CALM_S, DEAF_S, GAP_S, SURE_S, Hearing
from lastword.errors import ConnectionFailedError, LastwordError, TopicNotFoundError
from lastword.testing.fake_clock import FakeClock
from lastword.testing.waiting import wait_until

TICK_S = 0.1


class Watched:
    """An instance whose time passes in ticks of 100 ms."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.hearing = Hearing(lambda: None, self.clock)
        self.clock.advance(seconds=10 * DEAF_S)  # it is made long before it starts
        self.hearing.look()

    def watch(self, seconds: float, *, answered: bool) -> None:
        for _ in range(round(seconds / TICK_S)):
            self.clock.advance(seconds=TICK_S)
            if answered:
                self.hearing.answered()
            self.hearing.look()


def test_an_instance_without_an_answer_for_two_seconds_is_deaf_until_the_next_one() -> None:
    here = Watched()
    here.watch(DEAF_S - TICK_S, answered=False)
    assert not here.hearing.deaf
    here.watch(3 * TICK_S, answered=False)
    assert here.hearing.deaf
    here.watch(TICK_S, answered=True)
    assert not here.hearing.deaf


def test_an_instance_that_was_frozen_is_not_deaf() -> None:
    here = Watched()
    here.clock.advance(seconds=10 * DEAF_S)
    here.hearing.look()
    assert not here.hearing.deaf
    here.watch(DEAF_S + 2 * TICK_S, answered=False)
    assert here.hearing.deaf


def test_an_instance_that_missed_answers_itself_does_not_believe_deaf_ones() -> None:
    here = Watched()
    here.watch(GAP_S, answered=True)
    assert here.hearing.believes("b")
    here.watch(GAP_S + 2 * TICK_S, answered=False)
    assert not here.hearing.believes("b")
    here.watch(SURE_S - 2 * TICK_S, answered=True)
    assert not here.hearing.believes("b")
    here.watch(4 * TICK_S, answered=True)
    assert here.hearing.believes("b")


def test_a_member_that_heard_the_brokers_after_the_gap_is_believed_when_it_is_deaf_later() -> None:
    here = Watched()
    here.watch(2 * DEAF_S, answered=False)
    here.watch(CALM_S - 2 * TICK_S, answered=True)
    here.hearing.note_well({"b"})
    assert not here.hearing.believes("b")  # it may yet notice the silence that both shared
    here.watch(4 * TICK_S, answered=True)
    here.hearing.note_well({"b"})
    assert here.hearing.believes("b")
    assert not here.hearing.believes("c")
    here.watch(GAP_S + 2 * TICK_S, answered=False)
    assert not here.hearing.believes("b")


def test_an_instance_that_was_frozen_does_not_believe_deaf_ones() -> None:
    here = Watched()
    here.clock.advance(seconds=2 * GAP_S)
    here.hearing.look()
    assert not here.hearing.believes("b")


@pytest.mark.parametrize(
    ("error", "heard"),
    [(ConnectionFailedError("no answer"), False), (TopicNotFoundError("no such topic"), True)],
)
def test_a_refusal_is_an_answer(
    error: LastwordError, heard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastword.cluster.hearing.ASK_S", 0.01)
    asked = threading.Semaphore(0)

    class Counting(Hearing):
        answers = 0

        def answered(self) -> None:
            self.answers += 1

    def ask() -> None:
        asked.release()
        raise error

    hearing = Counting(ask, SYSTEM_CLOCK)
    hearing.start()
    try:
        for _ in range(2):
            assert asked.acquire(timeout=180)
        if heard:
            wait_until(lambda: hearing.answers, "it is counted")
        else:
            assert hearing.answers == 0
    finally:
        hearing.close()
