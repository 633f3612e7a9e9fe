"""A watch of coroutines: an asynchronous iterator of changes that resumes by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType

from lastword.client.calls.watching import SILENCE_S, ChangeReader
from lastword.client.http.async_pool import AsyncStream
from lastword.client.http.failures import AnswerLostError
from lastword.clock import Clock
from lastword.records import Position
from lastword.table.entry import Change

WAIT_S = 5.0

OpenAsyncStream = Callable[[ChangeReader], Awaitable[AsyncStream]]


class AsyncWatch:
    """Every change from a moment on; ends only when closed and never skips one silently.

    ``async with`` begins it at once; else the first step of ``async for`` does. ``position`` is
    where to start again to see what comes after the last change taken.
    """

    def __init__(self, changes: ChangeReader, open_stream: OpenAsyncStream, clock: Clock) -> None:
        self._changes = changes
        self._open = open_stream
        self._clock = clock
        self._closed = False
        self._heard_at = 0.0
        self._stream: AsyncStream | None = None

    @property
    def position(self) -> Position:
        """Just after the last change that was taken."""
        return self._changes.position

    async def __aenter__(self) -> AsyncWatch:
        await self._connect()
        while not self._changes.begun:
            if self._clock.monotonic() - self._heard_at > SILENCE_S:
                self.close()
                raise AnswerLostError("the service accepted a watch and sent nothing")
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
        stream = self._stream = await self._open(self._changes)
        self._heard_at = self._clock.monotonic()
        self._feed(stream.body)
        return stream

    async def _read(self, timeout_s: float) -> None:
        stream = self._stream or await self._connect()
        try:
            data = await stream.read(timeout_s)
        except AnswerLostError:
            data = b""
        now = self._clock.monotonic()
        if data:
            self._heard_at = now
            self._feed(data)
        elif data is not None or now - self._heard_at > SILENCE_S:
            self._drop()

    def _feed(self, data: bytes) -> None:
        if self._changes.feed(data):
            self._drop()

    def _drop(self) -> None:
        """Close a connection that brings nothing more; the next read opens another."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
