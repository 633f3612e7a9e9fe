"""A watch for coroutines: an asynchronous iterator of changes that resumes by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType

from lastword.client.calls.watching import ChangeReader
from lastword.client.http.async_pool import AsyncStream
from lastword.client.http.failures import AnswerLostError
from lastword.client.watch_stream import WatchStream, nothing_sent
from lastword.clock import Clock
from lastword.table.entry import Change

WAIT_S = 5.0

OpenAsyncStream = Callable[[ChangeReader], Awaitable[AsyncStream]]


class AsyncWatch(WatchStream[AsyncStream]):
    """Every change from a moment on; ends only when closed and never skips one silently.

    ``async with`` begins it at once; else the first step of ``async for`` does. ``position`` is
    where another watch continues after the last change taken.
    """

    def __init__(self, changes: ChangeReader, open_stream: OpenAsyncStream, clock: Clock) -> None:
        super().__init__(changes, clock)
        self._open = open_stream

    async def __aenter__(self) -> AsyncWatch:
        await self._connect()
        while not self._changes.begun:
            if self._is_silent():
                self.close()
                raise nothing_sent()
            await self._read(WAIT_S)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[Change]:
        return self

    async def __anext__(self) -> Change:
        while not self._closed:
            change = await self.take(WAIT_S)
            if change is not None:
                return change
        raise StopAsyncIteration

    async def take(self, timeout_s: float) -> Change | None:
        """The next change, or None when there is none within ``timeout_s``."""
        deadline = self._clock.monotonic() + timeout_s
        while not self._closed:
            change = self._changes.take()
            if change is not None:
                return change
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                return None
            await self._read(left_s)
        return None

    def close(self) -> None:
        """Stop watching, which ends the iteration; idempotent."""
        self._closed = True
        self._drop()

    async def _connect(self) -> AsyncStream:
        return self._take_over(await self._open(self._changes))

    async def _read(self, timeout_s: float) -> None:
        stream = self._stream or await self._connect()
        try:
            self._hear(await stream.read(timeout_s))
        except AnswerLostError:
            self._drop()
