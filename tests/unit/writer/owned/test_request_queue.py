from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import OverloadedError
from lastword.writer.owned.decide import Result
from lastword.writer.owned.request_queue import RequestQueue
from lastword.writer.owned.requests import Current, Put
from lastword.writer.owned.tickets import Ticket, deliver

PATIENT_S = 60.0


class Counted:
    """A sink that notes each call."""

    def __init__(self) -> None:
        self.calls: list[list[tuple[int, Result]]] = []

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        self.calls.append(list(answers))


def ticket(number: int = 0, size: int = 0, sink: Counted | None = None) -> Ticket:
    return Ticket(Put(key=b"k", value=bytes(size)), sink or Counted(), number, float("inf"))


def queue(**limits: int) -> RequestQueue:
    return RequestQueue(SYSTEM_CLOCK, **({"batch_bytes": 100_000} | limits))


def test_everything_that_waits_is_one_batch_in_the_order_of_arrival() -> None:
    waiting = queue()
    for number in range(5):
        assert waiting.put(ticket(number))
    assert [each.number for each in waiting.take(PATIENT_S)] == list(range(5))
    assert len(waiting) == 0


def test_a_batch_is_never_larger_than_one_append_takes() -> None:
    waiting = queue(batch_bytes=1000)
    for number, size in enumerate((300, 300, 300, 5000, 10)):
        waiting.put(ticket(number, size))
    batches = [[each.number for each in waiting.take(PATIENT_S)] for _ in range(3)]
    assert batches == [[0, 1], [2], [3]]


def test_it_waits_a_moment_for_as_many_as_the_last_batch_had() -> None:
    waiting = queue()
    for number in range(3):
        waiting.put(ticket(number))
    waiting.take(PATIENT_S)
    taken: list[Ticket] = []
    taking = threading.Thread(target=lambda: taken.extend(waiting.take(PATIENT_S)))
    taking.start()
    waiting.put(ticket(7))  # alone: the batch goes without the others, two milliseconds later
    taking.join(PATIENT_S)
    assert [each.number for each in taken] == [7]


@pytest.mark.parametrize("limits", [{"requests_max": 2}, {"bytes_max": 450}])
def test_a_full_queue_refuses_and_takes_again_once_there_is_room(limits: dict[str, int]) -> None:
    waiting = queue(**limits)
    waiting.put(ticket(0, 100))
    waiting.put(ticket(1, 100))
    with pytest.raises(OverloadedError) as refused:
        waiting.put(ticket(2, 100))
    assert refused.value.retriable
    waiting.take(PATIENT_S)
    assert waiting.put(ticket(3, 100))


def test_a_closed_queue_returns_waiting_tickets_and_accepts_no_more() -> None:
    waiting = queue()
    waiting.put(ticket(1))
    assert [each.number for each in waiting.close()] == [1]
    assert not waiting.put(ticket(2))
    assert waiting.take(PATIENT_S) == []


def test_a_sink_is_called_once_for_all_its_answers_of_a_batch() -> None:
    one, two = Counted(), Counted()
    tickets = [ticket(0, sink=one), ticket(0, sink=two), ticket(1, sink=one)]
    deliver(tickets, [Current(None)] * 3)
    assert one.calls == [[(0, Current(None)), (1, Current(None))]]
    assert two.calls == [[(0, Current(None))]]


def test_a_ticket_is_claimed_once() -> None:
    one = ticket()
    assert one.claim()
    assert not one.claim()
    one.unclaim()
    one.unclaim()
    assert one.claim()
    assert not one.claim()
