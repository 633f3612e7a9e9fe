"""A call as a sequence of steps, so that threads and coroutines share all but the waiting.

Each call is a generator: it yields requests and pauses, gets the answers, and returns the result.
Paging, retries and compare-and-set loops are written once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import NamedTuple, TypeVar

from lastword.client.http.address import Address
from lastword.client.http.messages import HttpRequest, HttpResponse
from lastword.errors import LastwordError

T = TypeVar("T")


class Exchange(NamedTuple):
    """Send this request and return its answer, by that moment of the monotonic clock.

    It goes to ``address``, or to the one that the client was given, and waits for ``patience_s`` at
    most.
    """

    request: HttpRequest
    deadline: float
    address: Address | None = None
    patience_s: float | None = None


class Pause(NamedTuple):
    """Wait."""

    seconds: float


Step = Exchange | Pause
Steps = Generator[Step, HttpResponse | None, T]
"""``HttpResponse`` for an exchange, None for a pause."""


def run(
    steps: Steps[T],
    exchange: Callable[[Exchange], HttpResponse],
    sleep: Callable[[float], None],
) -> T:
    """Do the steps on this thread."""
    answer: HttpResponse | None = None
    failure: LastwordError | None = None
    try:
        while True:
            step = steps.send(answer) if failure is None else steps.throw(failure)
            answer, failure = None, None
            if isinstance(step, Pause):
                sleep(step.seconds)
                continue
            try:
                answer = exchange(step)
            except LastwordError as error:
                failure = error
    except StopIteration as stop:
        result: T = stop.value
        return result


async def run_async(
    steps: Steps[T],
    exchange: Callable[[Exchange], Awaitable[HttpResponse]],
    sleep: Callable[[float], Awaitable[None]],
) -> T:
    """Do the steps in this task."""
    answer: HttpResponse | None = None
    failure: LastwordError | None = None
    try:
        while True:
            step = steps.send(answer) if failure is None else steps.throw(failure)
            answer, failure = None, None
            if isinstance(step, Pause):
                await sleep(step.seconds)
                continue
            try:
                answer = await exchange(step)
            except LastwordError as error:
                failure = error
    except StopIteration as stop:
        result: T = stop.value
        return result
