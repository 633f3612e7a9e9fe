"""Sends a request until it has a final answer, and never repeats a write by accident.

A read is sent again after a broken connection, and after 429 or 503, within the time of the call.
If every copy was too stale, it is not.
A write is sent again if it certainly was not done: it was not sent, or the service says so. If the
answer of a write is lost, only one with a condition is sent again: it is done at most once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count

from lastword.client.http.failures import AnswerLostError, NotSentError
from lastword.client.http.messages import HttpRequest, HttpResponse, Repeat
from lastword.client.problems import error_of, problem_in
from lastword.client.steps import Exchange, Pause, Steps
from lastword.clock import Clock
from lastword.errors import IndeterminateError, LastwordError

ATTEMPTS_MAX = 20
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 2.0
# Answers of a service that has not begun to write. Any other 503 may hide a write.
_NOTHING_WRITTEN = frozenset(
    (
        "Busy",
        "NotOwnerError",
        "NotReadyError",
        "OverloadedError",
        "PeerUnreachableError",
        "ServiceStopping",
    )
)


@dataclass(frozen=True)
class Patience:
    """How long a call may take, retries included."""

    timeout_s: float
    clock: Clock

    def deadline(self) -> float:
        """The end of a call that begins now, on the monotonic clock."""
        return self.clock.monotonic() + self.timeout_s

    def until(self, step: Exchange) -> float:
        """Until when an answer is waited for."""
        if step.patience_s is None:
            return step.deadline
        return min(step.deadline, self.clock.monotonic() + step.patience_s)


def answered(request: HttpRequest, patience: Patience) -> Steps[HttpResponse]:
    """The final answer, with any status.

    Raises ConnectionFailedError if there is none, and IndeterminateError for a write with an
    unknown outcome.
    """
    deadline = patience.deadline()
    doubtful = False
    for attempt in count(1):
        wait_s = 0.0
        failure: LastwordError
        try:
            response = yield Exchange(request, deadline)
            if response is None:
                raise RuntimeError("an exchange brings an answer")
        except NotSentError as error:
            failure = error
        except AnswerLostError as error:
            if request.repeat is Repeat.NEVER:
                raise _indeterminate(error) from error
            doubtful = doubtful or request.repeat is Repeat.CONDITIONAL
            failure = error
        else:
            if not _may_be_sent_again(request, response):
                if doubtful and response.status >= 400:
                    raise _indeterminate(error_of(response))
                return response
            failure = error_of(response)
            wait_s = _retry_after_s(response)
        pause_s = max(wait_s, _pause_s(attempt))
        if attempt >= ATTEMPTS_MAX or patience.clock.monotonic() + pause_s >= deadline:
            raise (_indeterminate(failure) if doubtful else failure)
        yield Pause(pause_s)
    raise RuntimeError("unreachable")


def _may_be_sent_again(request: HttpRequest, response: HttpResponse) -> bool:
    if response.status == 429:
        return True
    if response.status != 503:
        return False
    problem = problem_in(response)
    if request.method == "GET" or request.repeat is Repeat.FREELY:
        # The service has asked every copy for ten seconds.
        return problem.retriable and problem.name != "TooStaleError"
    return problem.name in _NOTHING_WRITTEN


def _retry_after_s(response: HttpResponse) -> float:
    given = response.headers.get(b"retry-after", b"")
    return float(given) if given.isdigit() and len(given) < 7 else 0.0


def _pause_s(attempt: int) -> float:
    """A pause that grows with each attempt, with a random part."""
    longest_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt)
    return random.uniform(longest_s / 2, longest_s)  # noqa: S311 - nobody has to guess it


def _indeterminate(cause: LastwordError) -> IndeterminateError:
    return IndeterminateError(
        f"the write may or may not have happened: {cause}",
        hint="read the key before you write it again, or write with if_version=",
    )
