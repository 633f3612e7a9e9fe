"""What is asked of the tailing thread is done once, or certainly never."""

from __future__ import annotations

import threading

import pytest

from lastword.errors import NotReadyError, TableClosedError
from lastword.replicas.tail.inbox import Inbox
from lastword.testing import wait_until


@pytest.fixture
def inbox() -> Inbox:
    return Inbox("topic")


def run_one(inbox: Inbox) -> None:
    wait_until(lambda: len(inbox), "somebody asks")
    inbox.run()


def test_a_call_answers_with_the_result_or_the_error_of_its_task(inbox: Inbox) -> None:
    for _ in range(2):
        threading.Thread(target=run_one, args=[inbox], daemon=True).start()
        assert inbox.call(lambda: 42, 60) == 42
    threading.Thread(target=run_one, args=[inbox], daemon=True).start()
    with pytest.raises(ZeroDivisionError):
        inbox.call(lambda: 1 / 0, 60)


def test_tasks_run_in_the_order_they_came(inbox: Inbox) -> None:
    ran: list[int] = []
    for n in range(3):
        inbox.post(lambda n=n: ran.append(n))  # type: ignore[misc]
    inbox.run()
    assert ran == [0, 1, 2]


def test_a_call_that_timed_out_is_never_run(inbox: Inbox) -> None:
    ran: list[int] = []
    with pytest.raises(NotReadyError, match="too busy"):
        inbox.call(lambda: ran.append(1), 0.01)
    inbox.run()
    assert ran == []


def test_a_wait_for_a_thread_that_ends_fails(inbox: Inbox) -> None:
    told = threading.Event()

    def ask() -> None:
        with pytest.raises(TableClosedError):
            inbox.call(lambda: None, 60)
        told.set()

    threading.Thread(target=ask, daemon=True).start()
    wait_until(lambda: len(inbox), "it asks")
    inbox.close()
    assert told.wait(180)
    with pytest.raises(TableClosedError):
        inbox.call(lambda: None, 60)
