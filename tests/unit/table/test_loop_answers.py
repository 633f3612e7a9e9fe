"""Requests of coroutines whose owner does not answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from lastword.errors import IndeterminateError, WriteFailedError
from lastword.records import Version
from lastword.table.writing.loop_answers import LoopAnswers
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.writer.owned.requests import Applied, Put
from lastword.writer.owned.tickets import GRACE_S, Sink, Ticket
from tests.support.coroutines import run_coroutine


class SilentOwner:
    """Takes requests and answers none; claims them if ``claims``."""

    def __init__(self, *, claims: bool) -> None:
        self._claims = claims
        self.reflected: list[Version] = []

    def reflect(self, version: Version) -> None:
        self.reflected.append(version)

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
        timely = answers.ask(request)
        late = [await answers.ask(request, -GRACE_S) for _ in range(2)]  # the timer starts again
        assert not timely.done()
        answers.deliver([(0, IndeterminateError("answered"))])
        return [*late, await timely]

    *late, timely = run_coroutine(ask())
    assert [type(each) for each in late] == [expected, expected]
    assert str(timely) == "answered"


def test_later_reads_reflect_a_batch_before_its_first_caller_runs() -> None:
    async def ask() -> tuple[list[Version], list[Version]]:
        owner = SilentOwner(claims=True)
        answers = LoopAnswers(cast("OwnedWrites", owner))
        asked = [answers.ask(Put(key=b"a", value=b"1")) for _ in range(3)]
        asked[1].cancel()
        versions = [Version(0, 7), Version(0, 9), Version(1, 2)]
        answers.deliver([(i, Applied((version,))) for i, version in enumerate(versions)])
        await asked[0]
        early = list(owner.reflected)
        await asked[2]
        return early, owner.reflected

    early, reflected = run_coroutine(ask())
    assert early == reflected == [Version(0, 9), Version(1, 2)]
