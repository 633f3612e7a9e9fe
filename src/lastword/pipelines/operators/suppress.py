"""Holds windows back until they close, so that each is emitted once and never changes.

The windows themselves are in their own store. This index only has the open ones, sorted by the
stream time at which they close, with its own changelog. Both are committed with the source
position, so a window is emitted exactly once, whatever fails or is repeated.
"""

from __future__ import annotations

from collections.abc import Iterable

from lastword.errors import PipelineError
from lastword.pipelines.api.windows import Windows
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.state_view import StateChange, StateView, Update
from lastword.records import NO_HEADERS

_TIME_BYTES = 8
_OPEN = b""
# The row with the number of entries: counting them would read the whole index in every batch.
# Times are never negative, so no entry begins with this bit.
_HOW_MANY = b"\x80"


class OpenWindows:
    """The index during one batch; ``limit`` is how many open windows a partition may hold back."""

    def __init__(self, index: StateView, windows: Windows, limit: int) -> None:
        self._index = index
        self._windows = windows
        self._limit = limit

    def close(self, state: StateView, before_ms: int, context: BatchContext) -> list[Update]:
        """The windows that closed since ``before_ms``, in the order of closing.

        ``state`` holds the windows and this batch's changes of them.
        """
        (known,) = self._index.get_many([_HOW_MANY])
        if known is not None:
            held = int.from_bytes(known, "big") + self._follow(state.changes(), before_ms)
        else:
            # The first batch, or the first one with suppress().
            opened = (StateChange(row, None, value, 0) for row, value in state.scan(None, None))
            held = self._follow(opened, before_ms)
        now_ms = context.stream_time_ms
        due = sorted(entry for entry, _ in self._index.scan(None, _time(now_ms + 1)))
        for entry in due:
            self._index.put(entry, None, now_ms)
        held -= len(due)
        self._refuse_beyond_limit(held)
        self._index.put(_HOW_MANY, held.to_bytes(_TIME_BYTES, "big"), now_ms)
        context.tally.held_back += held
        context.tally.final += len(due)
        rows = [entry[_TIME_BYTES:] for entry in due]
        return [
            (row, value, at_ms, NO_HEADERS)
            for row, (value, at_ms) in zip(rows, state.get_with_times(rows), strict=True)
        ]

    def _follow(self, changes: Iterable[StateChange], before_ms: int) -> int:
        """Add windows that were opened and drop those that were deleted; returns the difference.

        Windows that closed earlier were already emitted; they change only by expiring. Only a
        session can start at exactly the time at which it closes.
        """
        more = 0
        for row, old, new, at_ms in changes:
            closes_at_ms = self._windows.closes_at_ms(row)
            if closes_at_ms < before_ms or (old is None) == (new is None):
                continue
            self._index.put(_time(closes_at_ms) + row, None if new is None else _OPEN, at_ms)
            more += 1 if old is None else -1
        return more

    def _refuse_beyond_limit(self, held: int) -> None:
        if held > self._limit:
            raise PipelineError(
                f"{held} windows of one partition are open, more than the limit of {self._limit}",
                hint="raise the limit of suppress(), or shorten the windows or their grace; "
                "nothing is lost, the next run continues from the last commit",
            )


def _time(ms: int) -> bytes:
    return ms.to_bytes(_TIME_BYTES, "big")
