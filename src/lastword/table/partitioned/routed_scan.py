"""The rows of one partition, wherever it is: page after page, in the order of their keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from lastword.table.partitioned.messages import ReadReply

PAGE_ROWS = 1_000

NextPage = Callable[[int, bytes], ReadReply]
"""(partition, last key) -> the page that follows that key."""


class RoutedScan:
    """A StoreScan over one partition; each page is asked for when the one before is used up.

    A page is as of one moment. It comes from whoever keeps the partition by then, so a scan
    continues behind its last key when the partition moves.
    """

    def __init__(
        self,
        partition: int,
        rows: Sequence[tuple[bytes, bytes]],
        *,
        finished: bool,
        next_page: NextPage,
    ) -> None:
        self._partition = partition
        self._rows = deque(rows)
        self._finished = finished
        self._next_page = next_page
        self._last = rows[-1][0] if rows else b""

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        while not self._rows:
            if self._finished:
                raise StopIteration
            reply = self._next_page(self._partition, self._last)
            self._rows.extend((key, row) for _, key, row in reply.rows)
            self._finished = not reply.unfinished
            if self._rows:
                self._last = self._rows[-1][0]
        return self._rows.popleft()

    def close(self) -> None:
        """Ask for no more pages; idempotent."""
        self._finished = True
        self._rows.clear()
