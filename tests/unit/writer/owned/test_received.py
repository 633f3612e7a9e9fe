"""A batch of requests that a peer sends twice is decided once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lastword.errors import IndeterminateError, NotOwnerError
from lastword.testing.fake_clock import FakeClock
from lastword.testing.waiting import wait_until
from lastword.writer.owned.forward.answering import PeerAnswers
from lastword.writer.owned.forward.peer_messages import (
    ForwardedRequests,
    decode_reply,
    encode_question,
)
from lastword.writer.owned.forward.received import IDLE_S, KEPT, REPLY_BYTES_MAX, ReplyCache
from lastword.writer.owned.requests import Applied, Operate, Put
from lastword.writer.owned.tickets import Waiting
from tests.support.shared_tables.owned_lab import OPERATIONS, PARTITION, PATIENT_S, OwnerLab

PROCESS = b"process1"


class Lab(OwnerLab):
    """An owner, and what its process answers to peers."""

    def __init__(self) -> None:
        super().__init__()
        self.here: dict[int, Any] = {}
        owners: Any = self
        self.answers = PeerAnswers("t", owners, timeout_s=PATIENT_S, clock=self.clock)

    def own_here(self) -> None:
        self.here = {PARTITION: self.own()}

    def question(self, number: int, value: bytes | None = None, position: int | None = None) -> Any:
        """An increment, or a put of ``value``; the sender has read the log up to now."""
        argument = OPERATIONS.argument("increment", 1)
        request: Any = Operate(key=b"n", operation="increment", argument=argument)
        if value is not None:
            request = Put(key=b"v", value=value)
        at = len(self.log.records) if position is None else position
        sending = PROCESS + number.to_bytes(8)
        return encode_question(ForwardedRequests(PARTITION, PATIENT_S, (request,), at, sending))


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    lab.own_here()
    yield lab
    lab.close()


def only(reply: bytes) -> Any:
    (result,) = decode_reply(reply)
    return result


def test_a_batch_that_arrived_and_comes_again_gets_the_first_answer(lab: Lab) -> None:
    question = lab.question(1)
    first = only(lab.answers.answer(question))
    assert isinstance(first, Applied)
    assert only(lab.answers.answer_again(question)) == first
    assert lab.log.values() == [b"1"]


def test_a_batch_that_did_not_arrive_is_decided_when_it_comes_again(lab: Lab) -> None:
    question = lab.question(1)
    again = only(lab.answers.answer_again(question))
    assert isinstance(again, Applied)
    assert only(lab.answers.answer(question)) == again, "the first one, which was slow"
    assert lab.log.values() == [b"1"]


def test_a_batch_that_comes_again_waits_for_the_first(lab: Lab) -> None:
    from concurrent.futures import ThreadPoolExecutor

    question = lab.question(1)
    lab.logs[0].gate.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lab.answers.answer, question)
        wait_until(lambda: lab.here[PARTITION].waiting == 0, "it is being appended")
        again = pool.submit(lab.answers.answer_again, question)
        lab.logs[0].gate.set()
        assert only(first.result(PATIENT_S)) == only(again.result(PATIENT_S))
    assert lab.log.values() == [b"1"]


def test_an_owner_since_after_the_first_sending_does_not_decide_and_does_not_know(lab: Lab) -> None:
    question = lab.question(1)
    lab.own_here()  # a new process under the same name: it remembers nothing
    lab.answers = PeerAnswers("t", lab, timeout_s=PATIENT_S, clock=lab.clock)  # type: ignore[arg-type]
    assert isinstance(only(lab.answers.answer_again(question)), IndeterminateError)
    assert isinstance(only(lab.answers.answer_again(question)), IndeterminateError)
    assert lab.log.values() == []


def test_a_process_that_owns_nothing_does_not_know_what_became_of_a_lost_batch(lab: Lab) -> None:
    lab.here = {}
    assert isinstance(only(lab.answers.answer_again(lab.question(1))), IndeterminateError)
    refused = lab.question(2)
    assert isinstance(only(lab.answers.answer(refused)), NotOwnerError)
    again = only(lab.answers.answer_again(refused))
    assert isinstance(again, NotOwnerError), "it refused this one itself"


def test_a_batch_that_may_have_been_forgotten_is_not_decided(lab: Lab) -> None:
    questions = [lab.question(number) for number in range(KEPT + 2)]
    for question in questions[1:]:
        lab.answers.answer(question)
    late = [only(lab.answers.answer(questions[0])), only(lab.answers.answer_again(questions[1]))]
    assert all(isinstance(each, IndeterminateError) for each in late)
    assert len(lab.log.values()) == KEPT + 1


def test_an_answer_that_is_too_large_is_given_once(lab: Lab) -> None:
    question = lab.question(1, value=bytes(REPLY_BYTES_MAX))
    assert isinstance(only(lab.answers.answer(question)), Applied)
    assert isinstance(only(lab.answers.answer_again(question)), IndeterminateError)
    assert len(lab.log.values()) == 1


def test_a_process_that_is_idle_for_long_is_forgotten() -> None:
    clock = FakeClock()
    received = ReplyCache(clock)
    questions = [
        ForwardedRequests(PARTITION, 1.0, (), 0, process + bytes(8))
        for process in (PROCESS, b"process2")
    ]
    for question in questions:
        assert received.take(question, Waiting((), 0.0), repeated=False)[1]
        assert not received.take(question, Waiting((), 0.0), repeated=True)[1]
        clock.advance(seconds=IDLE_S - 1)
    assert not received.take(questions[1], Waiting((), 0.0), repeated=True)[1]
    assert received.take(questions[0], Waiting((), 0.0), repeated=False)[1]
