"""The queue of requests for one partition's owner: bounded, and taken in batches.

The owner appends one batch at a time; requests that arrive meanwhile form the next batch. Callers
that just got an answer often ask again at once, so the queue waits until it holds as many requests
as the last batch: as long as that batch took, and from 2 to 5 ms. A single caller never waits.
"""

from __future__ import annotations

import threading
from collections import deque

from lastword.clock import Clock
from lastword.errors import OverloadedError
from lastword.writer.owned.tickets import Ticket

GATHER_S = 0.002
GATHER_MAX_S = 0.005
REQUESTS_MAX = 10_000
BYTES_MAX = 64 << 20
_OVERHEAD_BYTES = 100  # per record in the log: lengths, request id
_NEVER = REQUESTS_MAX + 1


class RequestQueue:
    """Tickets in the order of arrival. Any thread puts, one thread takes."""

    def __init__(
        self,
        clock: Clock,
        *,
        batch_bytes: int,
        requests_max: int = REQUESTS_MAX,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self._clock = clock
        self._batch_bytes = batch_bytes
        self._requests_max = requests_max
        self._bytes_max = bytes_max
        self._tickets: deque[Ticket] = deque()
        self._bytes = 0
        self._last_batch = 1
        self._cut_at = 0.0
        self._closed = False
        self._wanted = _NEVER
        self._changed = threading.Condition(threading.Lock())

    def put(self, ticket: Ticket) -> bool:
        """Add a ticket; False if the queue is closed. Raises OverloadedError when it is full."""
        size = _size(ticket)
        with self._changed:
            if self._closed:
                return False
            if len(self._tickets) >= self._requests_max or self._bytes + size > self._bytes_max:
                raise OverloadedError(
                    f"{len(self._tickets)} requests ({self._bytes} bytes) wait for the owner",
                    hint="nothing was written; try again in a moment, and write in batches",
                )
            self._tickets.append(ticket)
            self._bytes += size
            if len(self._tickets) >= self._wanted:
                self._wanted = _NEVER  # the owner wakes up once per batch
                self._changed.notify()
        return True

    def take(self, timeout_s: float) -> list[Ticket]:
        """The next batch; empty if nothing arrives within ``timeout_s``."""
        took_s = self._clock.monotonic() - self._cut_at
        with self._changed:
            if not self._tickets and not self._closed:
                self._wanted = 1
                self._changed.wait(timeout_s)
            if len(self._tickets) < self._last_batch:
                self._gather(min(max(took_s, GATHER_S), GATHER_MAX_S))
            self._wanted = _NEVER
            self._cut_at = self._clock.monotonic()
            return self._cut()

    def drain(self) -> list[Ticket]:
        """Remove and return all tickets."""
        with self._changed:
            left = list(self._tickets)
            self._tickets.clear()
            self._bytes = 0
        return left

    def close(self) -> list[Ticket]:
        """Accept no more tickets, and return the waiting ones; idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        return self.drain()

    def __len__(self) -> int:
        return len(self._tickets)

    def _gather(self, longest_s: float) -> None:
        deadline = self._clock.monotonic() + longest_s
        while self._tickets and len(self._tickets) < self._last_batch and not self._closed:
            self._wanted = self._last_batch
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0 or not self._changed.wait(left_s):
                break

    def _cut(self) -> list[Ticket]:
        """As many tickets as one append takes, at least one."""
        if self._bytes <= self._batch_bytes:
            everything = list(self._tickets)
            self._tickets.clear()
            self._bytes = 0
            self._last_batch = len(everything)
            return everything
        batch: list[Ticket] = []
        size = 0
        while self._tickets:
            next_size = _size(self._tickets[0])
            if batch and size + next_size > self._batch_bytes:
                break
            batch.append(self._tickets.popleft())
            size += next_size
        self._bytes -= size
        self._last_batch = len(batch)
        return batch


def _size(ticket: Ticket) -> int:
    return ticket.request.size_bytes + _OVERHEAD_BYTES
