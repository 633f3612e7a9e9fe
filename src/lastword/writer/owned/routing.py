"""Routes each request to the owner of its partition, local or a peer, even while it moves.

A request is forwarded at most once: a peer that is not the owner says so instead of asking another
one. The request is then routed again here, after a pause, by a possibly newer plan.
"""

from __future__ import annotations

import heapq
import itertools
import threading

from lastword.clock import Clock
from lastword.errors import LastwordError, NotOwnerError
from lastword.writer.owned.forward.forwarding import Forwarder
from lastword.writer.owned.members import Members
from lastword.writer.owned.owners import Owners
from lastword.writer.owned.requests import Update
from lastword.writer.owned.tickets import Ticket, deliver_error

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5
_GROWTH = 1.6


class Router:
    """Routes the tickets of one topic. Safe from any thread; one thread makes the retries."""

    def __init__(
        self, topic: str, owners: Owners, members: Members, forwarder: Forwarder, clock: Clock
    ) -> None:
        self._topic = topic
        self._owners = owners
        self._members = members
        self._forwarder = forwarder
        self._clock = clock
        self._numbers = itertools.count()
        self._again: list[tuple[float, int, Ticket]] = []
        self._wake = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def route(self, ticket: Ticket, partition: int) -> None:
        """Send the request to its owner; the ticket's sink gets the answer."""
        ticket.partition, ticket.reroute = partition, self._reroute
        self._send(ticket)

    def close(self) -> None:
        """Answer the requests that wait for a retry; idempotent."""
        with self._wake:
            self._closed = True
            waiting, self._again = [ticket for _, _, ticket in self._again], []
            self._wake.notify()
        deliver_error(waiting, self._nobody())

    def _send(self, ticket: Ticket) -> None:
        try:
            owner = self._owners.here.get(ticket.partition)
            if owner is not None:
                owner.submit(ticket)
                return
            named = self._members.owner(self._topic, ticket.partition)
            if named is None or named.here:
                raise self._nobody()
            if isinstance(ticket.request, Update):
                raise NotOwnerError("a function cannot be sent to a peer", owner=named.instance_id)
            self._forwarder.forward(ticket, ticket.partition, named.instance_id)
        except LastwordError as error:
            deliver_error([ticket], error)

    def _reroute(self, ticket: Ticket) -> bool:
        """Send the ticket again after a pause; False if its deadline is earlier."""
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * _GROWTH**ticket.tries)
        due = self._clock.monotonic() + pause_s
        if due >= ticket.deadline:
            return False
        ticket.unclaim()
        ticket.tries += 1
        with self._wake:
            if self._closed:
                return False
            heapq.heappush(self._again, (due, next(self._numbers), ticket))
            self._wake.notify()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name=f"lastword-routing-{self._topic}", daemon=True
                )
                self._thread.start()
        return True

    def _run(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                now = self._clock.monotonic()
                if not self._again or self._again[0][0] > now:
                    self._wake.wait(self._again[0][0] - now if self._again else None)
                    continue
                _, _, ticket = heapq.heappop(self._again)
            self._send(ticket)

    def _nobody(self) -> NotOwnerError:
        return NotOwnerError(
            f"no process owns this partition of {self._topic} at the moment",
            hint="nothing was written; try again in a moment",
        )
