"""Holds windows back until they close, so that each is emitted once and never changes.

The windows themselves are in their own store. This index only has the open ones, sorted by the
stream time at which they close, with its own changelog. Both are committed with the source
position, so a window is emitted exactly once, whatever fails or is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastword.errors import PipelineError
from lastword.pipelines.api.windows import Windows
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.state_view import StateView, Update
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
            held = int.from_bytes(known, "big") + self._follow(
                state.created_and_deleted(), before_ms
            )
        else:
            # The first batch, or the first one with suppress().
            open_rows = [(row, True, 0) for row, _ in state.scan(None, None)]
            held = self._follow(open_rows, before_ms)
        now_ms = context.stream_time_ms
        due = sorted(entry for entry, _ in self._index.scan(None, _time(now_ms + 1)))
        self._index.put_many(due, [None] * len(due), [now_ms] * len(due))
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

    def _follow(self, changed: Sequence[tuple[bytes, bool, int]], before_ms: int) -> int:
        """Add windows that were opened and drop those that were deleted; returns the difference.

        Windows that closed earlier were already emitted; they change only by expiring. Only a
        session can start at exactly the time at which it closes.
        """
        closes_at_ms = self._windows.closes_at_ms
        closing = [(closes_at_ms(row), row, is_open, at_ms) for row, is_open, at_ms in changed]
        current = [each for each in closing if each[0] >= before_ms]
        marks = [_OPEN if is_open else None for _, _, is_open, _ in current]
        entries = [_time(close_ms) + row for close_ms, row, _, _ in current]
        self._index.put_many(entries, marks, [at_ms for _, _, _, at_ms in current])
        return len(marks) - 2 * marks.count(None)

    def _refuse_beyond_limit(self, held: int) -> None:
        if held > self._limit:
            raise PipelineError(
                f"{held} windows of one partition are open, more than the limit of {self._limit}",
                hint="raise the limit of suppress(), or shorten the windows or their grace; "
                "nothing is lost, the next run continues from the last commit",
            )


def _time(ms: int) -> bytes:
    return ms.to_bytes(_TIME_BYTES, "big")
