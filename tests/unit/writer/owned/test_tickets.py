from __future__ import annotations

import threading

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import WriteFailedError
from lastword.testing.waiting import wait_until
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import Current, Read
from lastword.writer.owned.tickets import GRACE_S, Waiting, deliver

PATIENT_S = 60.0


class Caller:
    """A thread that waits for the answer to one request."""

    def __init__(self, key: bytes) -> None:
        self.waiting = Waiting([Read(key=key)], SYSTEM_CLOCK.monotonic() + PATIENT_S)
        self.answers: list[Result] = []
        self._thread = threading.Thread(target=self._wait)

    def start(self) -> None:
        self._thread.start()
        wait_until(lambda: self.waiting.waited_for, "the thread waits")

    def join(self) -> None:
        self._thread.join(PATIENT_S)

    def _wait(self) -> None:
        self.answers = self.waiting.wait(SYSTEM_CLOCK)


def answer(*waiting: Waiting) -> None:
    tickets = [ticket for each in waiting for ticket in each.tickets]
    deliver(tickets, [Current(ticket.request.key) for ticket in tickets])  # type: ignore[union-attr]


def test_every_thread_of_a_batch_gets_its_own_answer() -> None:
    callers = [Caller(b"%d" % number) for number in range(20)]
    for caller in callers:
        caller.start()
    answer(*(caller.waiting for caller in callers))
    for number, caller in enumerate(callers):
        caller.join()
        assert caller.answers == [Current(b"%d" % number)]


def test_a_thread_that_gave_up_does_not_keep_the_others_from_waking_up() -> None:
    late = Waiting([Read(key=b"late")], SYSTEM_CLOCK.monotonic() - GRACE_S)
    assert isinstance(late.wait(SYSTEM_CLOCK)[0], WriteFailedError)
    other = Caller(b"other")
    other.start()
    answer(late, other.waiting)
    other.join()
    assert other.answers == [Current(b"other")]


def test_an_answer_that_nobody_waits_for_yet_does_not_keep_the_others_from_waking_up() -> None:
    early = Waiting([Read(key=b"early")], SYSTEM_CLOCK.monotonic() + PATIENT_S)
    other = Caller(b"other")
    other.start()
    answer(early, other.waiting)
    other.join()
    assert other.answers == [Current(b"other")]
    assert early.wait(SYSTEM_CLOCK) == [Current(b"early")]


def test_two_threads_that_wait_for_one_answer_both_get_it() -> None:
    shared = Waiting([Read(key=b"a")], SYSTEM_CLOCK.monotonic() + PATIENT_S)
    got: list[list[Result]] = []
    threads = [
        threading.Thread(target=lambda: got.append(shared.wait(SYSTEM_CLOCK))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: shared.waited_for, "a thread waits")
    answer(shared)
    for thread in threads:
        thread.join(PATIENT_S)
    assert got == [[Current(b"a")]] * 2


def test_several_requests_are_answered_once_the_last_answer_is_there() -> None:
    waiting = Waiting([Read(key=b"a"), Read(key=b"b")], SYSTEM_CLOCK.monotonic() + PATIENT_S)
    assert not waiting.take([(1, Current(b"b"))])
    assert not waiting.take([(1, Current(b"b"))])
    assert waiting.take([(0, Current(b"a"))])
    assert not waiting.take([(0, Current(b"a"))])
