"""What is sent again and what is not, without a network: the steps of a call are driven by hand."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from lastword.client.http.failures import AnswerLostError, NotSentError
from lastword.client.http.messages import HttpRequest, HttpResponse, Repeat
from lastword.client.retrying import ATTEMPTS_MAX, Patience, answered
from lastword.client.steps import Exchange, run
from lastword.errors import ConnectionFailedError, IndeterminateError, NotReadyError
from lastword.testing.fake_clock import FakeClock

READ = HttpRequest("GET", "/tables/t/keys/a")
ONCE = HttpRequest("PUT", "/tables/t/keys/a", b"1", repeat=Repeat.NEVER)
CONDITIONAL = HttpRequest("PUT", "/tables/t/keys/a", b"1", repeat=Repeat.CONDITIONAL)
LOST = AnswerLostError("cut")
NOT_SENT = NotSentError("refused")
OK = HttpResponse(200, {})


def problem(status: int, name: str, *, retry_after: bytes | None = None) -> HttpResponse:
    retriable = status in (429, 503)
    body = {"name": name, "message": "no", "hint": "wait", "retriable": retriable}
    headers = {} if retry_after is None else {b"retry-after": retry_after}
    return HttpResponse(status, headers, msgspec.json.encode(body))


class Network:
    """Answers with what the script says; the last item again and again."""

    def __init__(self, *script: HttpResponse | Exception) -> None:
        self.script: Sequence[HttpResponse | Exception] = script
        self.sent = 0
        self.clock = FakeClock()

    def exchange(self, step: Exchange) -> HttpResponse:
        answer = self.script[min(self.sent, len(self.script) - 1)]
        self.sent += 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(self, request: HttpRequest, timeout_s: float = 30.0) -> HttpResponse:
        steps = answered(request, Patience(timeout_s, self.clock))
        return run(steps, self.exchange, self.clock.sleep)


@pytest.mark.parametrize("request_", [READ, ONCE, CONDITIONAL])
def test_a_request_that_was_not_sent_is_sent_again(request_: HttpRequest) -> None:
    network = Network(NOT_SENT, NOT_SENT, OK)
    assert network.ask(request_) is OK
    assert network.sent == 3


def test_a_read_whose_answer_is_lost_is_sent_again() -> None:
    assert Network(LOST, OK).ask(READ) is OK


def test_a_read_that_every_copy_is_too_stale_for_is_not_sent_again() -> None:
    too_stale = problem(503, "TooStaleError")
    assert Network(too_stale, OK).ask(READ) is too_stale


def test_a_write_without_a_condition_whose_answer_is_lost_is_not_sent_again() -> None:
    network = Network(LOST, OK)
    with pytest.raises(IndeterminateError, match="may or may not"):
        network.ask(ONCE)
    assert network.sent == 1


def test_a_conditional_write_whose_answer_is_lost_is_sent_again() -> None:
    network = Network(LOST, OK)
    assert network.ask(CONDITIONAL) is OK
    assert network.sent == 2


def test_a_conflict_after_a_lost_answer_is_indeterminate() -> None:
    """The version in the way may be that of the first attempt."""
    with pytest.raises(IndeterminateError):
        Network(LOST, problem(412, "ConflictError")).ask(CONDITIONAL)


def test_a_conflict_at_the_first_attempt_is_a_conflict() -> None:
    assert Network(problem(412, "ConflictError")).ask(CONDITIONAL).status == 412


@pytest.mark.parametrize("name", ["NotOwnerError", "OverloadedError", "Busy"])
def test_a_write_that_was_refused_before_it_began_is_sent_again(name: str) -> None:
    assert Network(problem(503, name), OK).ask(ONCE) is OK


@pytest.mark.parametrize(
    "answer", [problem(503, "NotUpToPositionError"), problem(504, "IndeterminateError")]
)
def test_a_write_that_may_have_happened_is_not_sent_again(answer: HttpResponse) -> None:
    network = Network(answer, OK)
    assert network.ask(ONCE) is answer
    assert network.sent == 1


def test_retry_after_is_waited_for() -> None:
    network = Network(problem(429, "TooMany", retry_after=b"7"), OK)
    before = network.clock.monotonic()
    assert network.ask(READ) is OK
    assert network.clock.monotonic() - before >= 7


def test_a_wait_beyond_the_timeout_is_not_begun() -> None:
    network = Network(problem(503, "NotReadyError", retry_after=b"60"))
    before = network.clock.monotonic()
    with pytest.raises(NotReadyError) as caught:
        network.ask(READ)
    assert network.clock.monotonic() == before
    assert caught.value.hint == "wait"


def test_attempts_are_limited_in_number_and_in_time() -> None:
    quick = Network(NOT_SENT)
    with pytest.raises(ConnectionFailedError):
        quick.ask(READ, timeout_s=10_000)
    assert quick.sent == ATTEMPTS_MAX
    short = Network(NOT_SENT)
    with pytest.raises(ConnectionFailedError):
        short.ask(READ, timeout_s=1)
    assert short.sent < ATTEMPTS_MAX
