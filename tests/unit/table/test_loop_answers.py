"""Requests of coroutines whose owner does not answer."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from lastword.errors import IndeterminateError, WriteFailedError
from lastword.table.writing.loop_answers import LoopAnswers
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.writer.owned.requests import Put
from lastword.writer.owned.tickets import GRACE_S, Sink, Ticket
from tests.support.coroutines import run_coroutine


class SilentOwner:
    """Takes requests and answers none; claims them if ``claims``."""

    def __init__(self, *, claims: bool) -> None:
        self._claims = claims

    def submit(self, request: Any, sink: Sink, number: int, timeout_s: float) -> Ticket:
        ticket = Ticket(request, sink, number, timeout_s)
        if self._claims:
            ticket.claim()
        return ticket


@pytest.mark.parametrize(
    ("claims", "expected"), [(True, IndeterminateError), (False, WriteFailedError)]
)
def test_a_request_is_given_up_after_its_time(claims: bool, expected: type[Exception]) -> None:
    async def ask() -> list[Any]:
        answers = LoopAnswers(cast("OwnedWrites", SilentOwner(claims=claims)))
        request = Put(key=b"a", value=b"1")
        timely = asyncio.create_task(answers.ask(request))
        late = [await answers.ask(request, -GRACE_S) for _ in range(2)]  # the timer starts again
        assert not timely.done()
        answers.deliver([(1, IndeterminateError("answered"))])
        return [*late, await timely]

    *late, timely = run_coroutine(ask())
    assert [type(each) for each in late] == [expected, expected]
    assert str(timely) == "answered"
