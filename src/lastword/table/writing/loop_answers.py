"""Owners' answers for coroutines: no thread waits, and the event loop wakes up once per batch."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress

from lastword.table.writing.owned_writes import OwnedWrites
from lastword.writer.owned.decide import Result
from lastword.writer.owned.owned_path import WRITE_TIMEOUT_S
from lastword.writer.owned.requests import AnyRequest
from lastword.writer.owned.tickets import GRACE_S, Ticket, given_up


class LoopAnswers:
    """Asks the owners of one table from one event loop; used on that loop only.

    >>> answers = LoopAnswers(table.raw.owned)                                # doctest: +SKIP
    ... result = await answers.ask(Put(key=b"a", value=b"1", expected=ABSENT))
    """

    def __init__(self, owned: OwnedWrites) -> None:
        self._owned = owned
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Result]] = {}

    async def ask(self, request: AnyRequest, timeout_s: float = WRITE_TIMEOUT_S) -> Result:
        """Return the answer, or the error. An applied write may not be readable here yet: a read
        with ``at_least`` set to its version waits for it.
        """
        number = next(self._numbers)
        waiting: asyncio.Future[Result] = self._loop.create_future()
        self._waiting[number] = waiting
        ticket = self._owned.submit(request, self, number, timeout_s)
        timer = self._loop.call_later(timeout_s + GRACE_S, self._give_up, number, ticket)
        try:
            return await waiting
        finally:
            timer.cancel()
            self._waiting.pop(number, None)

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        """Receive the answers of a batch, on an owner's thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._resolve, answers)

    def _resolve(self, answers: Sequence[tuple[int, Result]]) -> None:
        for number, answer in answers:
            waiting = self._waiting.get(number)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def _give_up(self, number: int, ticket: Ticket) -> None:
        self._resolve([(number, given_up(ticket))])
