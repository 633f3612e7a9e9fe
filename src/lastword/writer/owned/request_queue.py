"""The queue of requests for one partition's owner: bounded, and taken in batches.

The owner appends one batch at a time; requests that arrive meanwhile form the next batch. It waits
a moment for callers that just got an answer (``gathering``). A single caller never waits.
"""

from __future__ import annotations

import threading
from collections import deque

from lastword.clock import Clock
from lastword.errors import OverloadedError
from lastword.writer.owned.gathering import GatherTarget
from lastword.writer.owned.tickets import Ticket

REQUESTS_MAX = 10_000
BYTES_MAX = 64 << 20
_OVERHEAD_BYTES = 100  # per record in the log: lengths, request id


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
        self._gathering = GatherTarget()
        self._cut_at = 0.0
        self._closed = False
        self._wanted = 0  # for how many the owner waits
        self._lock = threading.Lock()  # entered as it is: a Condition's own method takes longer
        self._changed = threading.Condition(self._lock)

    def put(self, ticket: Ticket) -> bool:
        """Add a ticket; False if the queue is closed. Raises OverloadedError when it is full."""
        size = _size(ticket)
        with self._lock:
            if self._closed:
                return False
            if len(self._tickets) >= self._requests_max or self._bytes + size > self._bytes_max:
                raise OverloadedError(
                    f"{len(self._tickets)} requests ({self._bytes} bytes) wait for the owner",
                    hint="nothing was written; try again in a moment, and write in batches",
                )
            self._tickets.append(ticket)
            self._bytes += size
            if self._wanted and self._has(self._wanted):
                self._wanted = 0  # the owner wakes up once per batch
                self._changed.notify()
        return True

    def take(self, timeout_s: float) -> list[Ticket]:
        """The next batch; empty if nothing arrives within ``timeout_s``."""
        took_s = self._clock.monotonic() - self._cut_at
        with self._lock:
            wanted, longest_s = self._gathering.next(len(self._tickets), took_s)
            in_time = self._wait_for(wanted, longest_s)
            if not self._tickets:
                in_time = self._wait_for(1, timeout_s)
            self._cut_at = self._clock.monotonic()
            batch = self._cut()
            self._gathering.took(len(batch), in_time=in_time)
            return batch

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

    def _wait_for(self, requests: int, longest_s: float) -> bool:
        """Wait until so many are here, with the lock held; returns whether they came in time."""
        if self._has(requests):
            return True
        deadline = self._clock.monotonic() + longest_s
        while not self._has(requests) and not self._closed:
            self._wanted = requests
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0 or not self._changed.wait(left_s):
                break
        self._wanted = 0
        return self._has(requests)

    def _has(self, requests: int) -> bool:
        """Whether so many are here, or as many as one append takes."""
        return len(self._tickets) >= requests or self._bytes >= self._batch_bytes

    def _cut(self) -> list[Ticket]:
        """As many tickets as one append takes, at least one."""
        if self._bytes <= self._batch_bytes:
            everything = list(self._tickets)
            self._tickets.clear()
            self._bytes = 0
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
        return batch


def _size(ticket: Ticket) -> int:
    return ticket.request.size_bytes + _OVERHEAD_BYTES
