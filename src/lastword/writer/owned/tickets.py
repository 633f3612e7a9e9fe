"""Requests that wait for an owner, and those who wait for the answers."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lastword.clock import Clock
from lastword.errors import IndeterminateError, LastwordError, WriteFailedError
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import AnyRequest, Read

GRACE_S = 1.0
"""How long after its deadline an answer may still come, before it is given up."""


class Sink(Protocol):
    """Whoever wants answers. Called on an owner's thread: it must return at once.

    All answers of one batch for one sink come in one call, so that an event loop wakes up once.
    """

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        """(number of the ticket, answer) for each of them."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A request, and where its answer goes; ``number`` is the sink's own name for it.

    Either its owner claims it, before ``deadline`` (monotonic), or whoever waits takes it back:
    what was never claimed is certain not to have been written.
    """

    request: AnyRequest
    sink: Sink
    number: int
    deadline: float
    _unclaimed: list[None] = field(default_factory=lambda: [None])

    def claim(self) -> bool:
        """Whether it was free until now; of several callers one gets it."""
        try:
            self._unclaimed.pop()
        except IndexError:
            return False
        return True

    def unclaim(self) -> None:
        """Nobody decides it now: it is free for another try."""
        if not self._unclaimed:
            self._unclaimed.append(None)


def claimed(tickets: Sequence[Ticket], now: float) -> list[Ticket]:
    """Those of the tickets that are to be decided now; late ones are answered."""
    return in_time([ticket for ticket in tickets if ticket.claim()], now)


def in_time(tickets: Sequence[Ticket], now: float) -> list[Ticket]:
    """Those whose deadline is not over; the others are told that nothing was written."""
    deliver_error([ticket for ticket in tickets if ticket.deadline <= now], never_sent())
    return [ticket for ticket in tickets if ticket.deadline > now]


def deliver(tickets: Sequence[Ticket], results: Iterable[Result]) -> None:
    """Give every sink its answers, all at once."""
    by_sink: dict[int, list[tuple[int, Result]]] = defaultdict(list)
    for ticket, result in zip(tickets, results, strict=True):
        by_sink[id(ticket.sink)].append((ticket.number, result))
    sinks = {id(ticket.sink): ticket.sink for ticket in tickets}
    for identity, answers in by_sink.items():
        sinks[identity].deliver(answers)


def deliver_error(tickets: Sequence[Ticket], error: LastwordError) -> None:
    """Give everybody the same error."""
    deliver(tickets, [error] * len(tickets))


class Waiting:
    """A sink for a thread that waits for the answers to its requests."""

    def __init__(self, requests: Sequence[AnyRequest], deadline: float) -> None:
        self.tickets = [Ticket(each, self, i, deadline) for i, each in enumerate(requests)]
        self._answers: list[Result | None] = [None] * len(requests)
        self._missing = len(requests)
        self._lock = threading.Lock()
        self._done = threading.Event()

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        """Take some of the answers."""
        with self._lock:
            for number, answer in answers:
                self._missing -= self._answers[number] is None
                self._answers[number] = answer
            done = self._missing <= 0
        if done:
            self._done.set()

    def wait(self, clock: Clock) -> list[Result]:
        """The answers in the order of the requests, at the latest a moment after the deadline."""
        if self._missing and self.tickets:
            deadline = self.tickets[0].deadline
            self._done.wait(max(0.0, deadline + GRACE_S - clock.monotonic()))
        return [
            given_up(ticket) if answer is None else answer
            for ticket, answer in zip(self.tickets, self._answers, strict=True)
        ]


def given_up(ticket: Ticket) -> LastwordError:
    """What is known of a request that has no answer in time."""
    if ticket.claim() or isinstance(ticket.request, Read):
        return never_sent()
    return IndeterminateError(
        "no answer in time: it may or may not have been written",
        hint="read the key before you write it again",
    )


def never_sent() -> WriteFailedError:
    """The error of a request that nobody decided in time."""
    return WriteFailedError(
        "the owner of the partition did not get to the request in time",
        hint="nothing was written; is the cluster reachable, and not overloaded?",
    )
