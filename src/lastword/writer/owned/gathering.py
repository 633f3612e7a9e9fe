"""How many requests a batch waits for.

A caller that was just answered often asks again at once. If all callers come back within the time
of one append, a batch waits for all of them: fewer appends are needed. If they need longer, because
the processors are busy with them, a batch waits for half of them: while it is appended, the others
come back, and nobody is idle.

The number of callers is the largest one seen in the last batches. Some callers are neither in the
queue nor in the last batch: those that still prepare their next request. Without them, half of the
callers would be fewer from batch to batch.
"""

from __future__ import annotations

from typing import NamedTuple

GATHER_S = 0.002
GATHER_MAX_S = 0.005
TRY_AGAIN = 20
"""After that many batches with half of the callers, one waits for all of them again."""
_FORGET = 8
"""With each batch, one in so many callers is forgotten, unless it was seen again."""


class GatherLimit(NamedTuple):
    """What a batch waits for: so many requests, and no longer than that."""

    requests: int
    longest_s: float


class GatherTarget:
    """Decides that for one batch after another. Used by one thread."""

    def __init__(self) -> None:
        self._last = 0
        self._callers = 0
        self._halves = 0

    def next(self, waiting: int, took_s: float) -> GatherLimit:
        """For the next batch. The last one ``took_s``, and so many requests came meanwhile."""
        seen = waiting + self._last
        self._callers = max(seen, self._callers - self._callers // _FORGET - 1)
        wanted = (self._callers + 1) // 2 if self._halves else seen
        return GatherLimit(wanted, min(max(took_s, GATHER_S), GATHER_MAX_S))

    def took(self, requests: int, *, in_time: bool) -> None:
        """The batch has so many requests; whether all that were waited for came in time."""
        if self._halves:
            self._halves -= 1
        elif not in_time and requests > 1:
            self._halves = TRY_AGAIN
        self._last = requests
