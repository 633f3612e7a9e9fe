"""Owners' answers for coroutines: no thread waits, and the event loop wakes up once per batch."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from lastword.records import Version
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.writer.owned.decide import Result
from lastword.writer.owned.owned_path import WRITE_TIMEOUT_S
from lastword.writer.owned.requests import AnyRequest, Applied
from lastword.writer.owned.tickets import GRACE_S, Ticket, given_up

_LOOK_S = 0.5


class _Asked(NamedTuple):
    """A request without an answer so far. ``until`` is when it is given up, in the loop's time."""

    answer: asyncio.Future[Result]
    ticket: Ticket
    until: float


class LoopAnswers:
    """Asks the owners of one table from one event loop; used on that loop only.

    >>> answers = LoopAnswers(table.raw.owned)                                # doctest: +SKIP
    ... result = await answers.ask(Put(key=b"a", value=b"1", expected=ABSENT))
    """

    def __init__(self, owned: OwnedWrites) -> None:
        self._owned = owned
        self.loop = asyncio.get_running_loop()
        self._numbers = itertools.count()
        self._asked: dict[int, _Asked] = {}
        # One for all requests: a timer for each would cost more than the request itself.
        self._timer: asyncio.TimerHandle | None = None

    def ask(
        self, request: AnyRequest, timeout_s: float = WRITE_TIMEOUT_S
    ) -> asyncio.Future[Result]:
        """Send a request at once; await its answer, or its error.

        An applied write may not be readable here yet: later reads of the table wait for it.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Result] = self.loop.create_future()
        until = self.loop.time() + timeout_s + GRACE_S
        # Its answer is handed over in a later turn of the loop, however early it comes.
        ticket = self._owned.submit(request, self, number, timeout_s)
        self._asked[number] = _Asked(answer, ticket, until)
        if self._timer is None:
            self._timer = self.loop.call_later(_LOOK_S, self._give_up_late)
        return answer

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        """Receive the answers of a batch, on an owner's thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(self._resolve, answers)

    def _resolve(self, answers: Sequence[tuple[int, Result]]) -> None:
        newest: dict[int, Version] = {}
        for number, answer in answers:
            if isinstance(answer, Applied):
                version = answer.versions[-1]
                known = newest.get(version.partition)
                if known is None or known.offset < version.offset:
                    newest[version.partition] = version
            asked = self._asked.pop(number, None)
            if asked is not None and not asked.answer.done():  # else its caller was cancelled
                asked.answer.set_result(answer)
        # Once for all writes of a batch, and before any of the callers runs.
        for version in newest.values():
            self._owned.reflect(version)

    def _give_up_late(self) -> None:
        now = self.loop.time()
        late = [(n, asked.ticket) for n, asked in self._asked.items() if asked.until <= now]
        self._resolve([(number, given_up(ticket)) for number, ticket in late])
        self._timer = self.loop.call_later(_LOOK_S, self._give_up_late) if self._asked else None
