"""What waits for one watcher, and when that is too much."""

from __future__ import annotations

import asyncio
from collections import deque

from lastword.errors import LastwordError, WatchLostError
from lastword.service.events import Chunk


class Watcher:
    """What one watcher has not been sent yet. Belongs to the event loop.

    Chunks are shared by all watchers of a table, so a hundred slow ones hold what one does.
    """

    def __init__(self, backlog_bytes_max: int) -> None:
        self._backlog_bytes_max = backlog_bytes_max
        self._chunks: deque[Chunk] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self.lost: LastwordError | None = None
        self.gone = False

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.gone or self.lost is not None

    def offer(self, chunk: Chunk) -> None:
        """Another chunk; too many of them, and the watcher is lost."""
        if self.ended:
            return
        self._bytes += len(chunk.data)
        if self._bytes > self._backlog_bytes_max:
            self.cut_off(
                WatchLostError(
                    f"this watcher is more than {self._backlog_bytes_max} bytes behind",
                    hint="read faster; resume with the id of the last event as Last-Event-ID",
                )
            )
            return
        self._chunks.append(chunk)
        self._news.set()

    def cut_off(self, reason: LastwordError) -> None:
        """Nothing more comes; the watcher learns why next, and can resume from what it has."""
        self.lost = self.lost or reason
        self._chunks.clear()
        self._news.set()

    def leave(self) -> None:
        """The client has gone; there is nobody to tell."""
        self.gone = True
        self._chunks.clear()
        self._news.set()

    async def take(self, timeout_s: float) -> Chunk | None:
        """The next chunk, or None when there is none in time or the watch has ended."""
        if not self._chunks and not self.ended:
            self._news.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
            except TimeoutError:
                return None
        if not self._chunks:
            return None
        chunk = self._chunks.popleft()
        self._bytes -= len(chunk.data)
        return chunk
