"""The queue of one watcher, and why it ended."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from lastword.errors import LastwordError
from lastword.service.watch.change_events import Chunk


class Watcher:
    """What one watcher has not been sent yet. Belongs to the event loop.

    Chunks are shared by all watchers of a table: ``hold`` and ``let_go`` are called when a chunk
    enters and leaves this queue.
    """

    def __init__(self, hold: Callable[[Chunk], None], let_go: Callable[[Chunk], None]) -> None:
        self._hold = hold
        self._let_go = let_go
        self._chunks: deque[Chunk] = deque()
        self._news = asyncio.Event()
        self.behind_bytes = 0
        self.lost: LastwordError | None = None
        self.gone = False

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.gone or self.lost is not None

    def offer(self, chunk: Chunk) -> None:
        """Another chunk."""
        if not self.ended:
            self._hold(chunk)
            self._chunks.append(chunk)
            self.behind_bytes += len(chunk.data)
            self._news.set()

    def cut_off(self, reason: LastwordError) -> None:
        """End the queue; the watcher gets the reason next, and can resume from its position."""
        if not self.ended:
            self.lost = reason
            self._forget()

    def leave(self) -> None:
        """The client has gone."""
        self.gone = True
        self._forget()

    async def take(self, timeout_s: float) -> Chunk | None:
        """The next chunk, or None when there is none in time or the watch has ended."""
        if not self._chunks and not self.ended:
            self._news.clear()
            with suppress(TimeoutError):  # a chunk may still have arrived at the same time
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
        if not self._chunks:
            return None
        chunk = self._chunks.popleft()
        self.behind_bytes -= len(chunk.data)
        self._let_go(chunk)
        return chunk

    def _forget(self) -> None:
        while self._chunks:
            self._let_go(self._chunks.popleft())
        self.behind_bytes = 0
        self._news.set()
