"""Requests that wait for an owner, and the callers that wait for the answers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from lastword.clock import Clock
from lastword.errors import (
    IndeterminateError,
    LastwordError,
    NotOwnerError,
    WriteFailedError,
)
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import AnyRequest, Read

GRACE_S = 1.0
"""How long after its deadline an answer may still arrive before it is given up."""


class Sink(Protocol):
    """Receives answers. Called on an owner's thread: it must return at once.

    One call delivers all answers of a batch for this sink, so an event loop wakes up only once.
    """

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        """Receive (number of the ticket, answer) for each of them."""


Reroute = Callable[["Ticket"], bool]
"""(ticket) -> whether it is routed again. It reached an instance that does not own its partition;
False means that no time is left, so the error is the answer."""


class Ticket(msgspec.Struct, eq=False):
    """A request, and where its answer goes; ``number`` is the sink's own id for it.

    ``position`` is how far the peer that forwarded it had read the log; None if it comes from here.
    Then a router sets ``partition`` and ``reroute``, and counts the ``tries``.

    Either the owner claims it before ``deadline`` (monotonic), or the caller takes it back. A
    request that was never claimed is certainly not written.
    """

    request: AnyRequest
    sink: Sink
    number: int
    deadline: float
    position: int | None = None
    partition: int = -1
    reroute: Reroute | None = None
    tries: int = 0
    _unclaimed: bool = True

    def claim(self) -> bool:
        """Claim the ticket; exactly one of several callers gets True."""
        try:
            del self._unclaimed  # one step, so it succeeds for one thread only
        except AttributeError:
            return False
        return True

    def unclaim(self) -> None:
        """Release the claim: another attempt may take it."""
        self._unclaimed = True


def claimed(tickets: Sequence[Ticket], now: float) -> list[Ticket]:
    """Claim the tickets to be decided now; those past their deadline are answered."""
    return in_time([ticket for ticket in tickets if ticket.claim()], now)


def in_time(tickets: Sequence[Ticket], now: float) -> list[Ticket]:
    """The tickets before their deadline; the others are answered: nothing was written."""
    early = [ticket for ticket in tickets if ticket.deadline > now]
    if len(early) < len(tickets):
        deliver_error([ticket for ticket in tickets if ticket.deadline <= now], never_sent())
    return early


def deliver(tickets: Sequence[Ticket], results: Iterable[Result]) -> None:
    """Give every sink its answers, in one call each; tickets of a partition that moved go on."""
    by_sink: dict[int, tuple[Sink, list[tuple[int, Result]]]] = {}
    for ticket, result in zip(tickets, results, strict=True):
        if isinstance(result, NotOwnerError) and _goes_on(ticket, result):
            continue
        sink = ticket.sink
        known = by_sink.get(id(sink))
        if known is None:
            by_sink[id(sink)] = sink, [(ticket.number, result)]
        else:
            known[1].append((ticket.number, result))
    complete: deque[Waiting] = deque()
    for sink, answers in by_sink.values():
        if not isinstance(sink, Waiting):
            sink.deliver(answers)
        elif sink.take(answers):
            complete.append(sink)
    wake_up(complete)


def _goes_on(ticket: Ticket, error: NotOwnerError) -> bool:
    return error.owner is None and ticket.reroute is not None and ticket.reroute(ticket)


def deliver_error(tickets: Sequence[Ticket], error: LastwordError) -> None:
    """Answer every ticket with the same error."""
    deliver(tickets, [error] * len(tickets))


class UnreadFenceError(NotOwnerError):
    """The caller has not read the fence record of this owner yet, which is at ``fence``."""

    def __init__(self, message: str, *, hint: str | None = None, fence: int) -> None:
        super().__init__(message, hint=hint)
        self.fence = fence


def refuse_unread(tickets: Sequence[Ticket], fence: int) -> Sequence[Ticket]:
    """The tickets that the owner whose fence record is there may decide; answers the others.

    A peer that gets no answer reads the log from its position to the next fence record of another
    instance, and then takes the request elsewhere. An owner that has taken over again after that
    record must not decide the request any more: it would be applied twice.
    """
    early = [t for t in tickets if t.position is not None and t.position <= fence]
    if not early:
        return tickets
    unread = UnreadFenceError(
        "the partition has had a new fence since the request was sent",
        hint="nothing was written; try again in a moment",
        fence=fence,
    )
    deliver_error(early, unread)
    return [t for t in tickets if t.position is None or t.position > fence]


class Waiting:
    """A sink for threads that wait for the answers to some requests.

    ``tickets`` are those of the requests, until all are answered. ``waited_for`` says whether a
    thread waits at the moment.
    """

    __slots__ = ("_answers", "_done", "_lock", "_missing", "_others", "tickets", "waited_for")

    def __init__(
        self, requests: Sequence[AnyRequest], deadline: float, position: int | None = None
    ) -> None:
        self.tickets = [
            Ticket(each, self, i, deadline, position) for i, each in enumerate(requests)
        ]
        self._answers: list[Result | None] = [None] * len(requests)
        self._missing = len(requests)
        self._lock = threading.Lock()
        # Held until the last answer is here. An Event costs several times as much.
        self._done = threading.Lock()
        self._done.acquire()
        self.waited_for = False
        self._others: deque[Waiting] | None = None

    def deliver(self, answers: Sequence[tuple[int, Result]]) -> None:
        """Receive some of the answers."""
        if self.take(answers):
            wake_up(deque((self,)))

    def take(self, answers: Sequence[tuple[int, Result]]) -> bool:
        """Receive some of the answers; returns True once, when all are here, for ``wake_up``."""
        with self._lock:
            missing = self._missing
            for number, answer in answers:
                self._missing -= self._answers[number] is None
                self._answers[number] = answer
            complete = missing > 0 and self._missing == 0
            if complete:
                self.tickets = []  # they refer to this sink: without the circle, all is freed soon
            return complete

    def wait(self, clock: Clock) -> list[Result]:
        """The answers in the order of the requests; waits until shortly after the deadline.

        Several threads may wait.
        """
        tickets = self.tickets
        if tickets:
            self._wait(tickets[0].deadline + GRACE_S - clock.monotonic())
        return [
            given_up(tickets[number]) if answer is None else answer
            for number, answer in enumerate(self._answers)
        ]

    def _wait(self, longest_s: float) -> None:
        with self._lock:
            self.waited_for = True
        try:
            if self._done.acquire(timeout=max(0.0, longest_s)):
                self._done.release()
        finally:
            with self._lock:
                self.waited_for = False
                others, self._others = self._others, None
            if others:
                wake_up(others)

    def release(self, others: deque[Waiting]) -> bool:
        """Wake the threads that wait; returns whether one of them will wake up the others."""
        with self._lock:
            self._done.release()
            if self.waited_for:
                self._others = others
            return self.waited_for


def wake_up(waiting: deque[Waiting]) -> None:
    """Wake up the first, which wakes up the next before it does anything else.

    Only one thread at a time runs Python. If all were woken at once, each would wait again at once,
    and would have to be woken twice.
    """
    while waiting:
        if waiting.popleft().release(waiting):
            return


def given_up(ticket: Ticket) -> LastwordError:
    """The error of a request without an answer in time: what is known about it."""
    if ticket.claim() or isinstance(ticket.request, Read):
        return never_sent()
    return IndeterminateError(
        "no answer in time: it may or may not have been written",
        hint="read the key before you write it again",
    )


def never_sent() -> WriteFailedError:
    """The error of a request that no owner claimed in time."""
    return WriteFailedError(
        "the owner of the partition did not start the request in time",
        hint="nothing was written; check that the cluster is reachable and not overloaded",
    )
