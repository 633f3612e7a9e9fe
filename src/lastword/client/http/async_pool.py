"""Connections to one service for coroutines, on asyncio's streams."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from lastword.client.http.address import Address
from lastword.client.http.connection import (
    CONNECT_TIMEOUT_S,
    READ_BYTES,
    answer_lost,
    not_reachable,
)
from lastword.client.http.failures import NotSentError
from lastword.client.http.messages import HttpRequest, HttpResponse, rendered
from lastword.client.http.pool import IDLE_S
from lastword.client.http.response_reader import ResponseReader
from lastword.clock import Clock
from lastword.errors import TableClosedError


@dataclass(frozen=True, slots=True)
class AsyncConnection:
    """The two ends of a stream; errors of the socket become those of the client."""

    origin: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_usable(self) -> bool:
        """Whether the service has kept an idle connection open."""
        return not self.reader.at_eof() and not self.writer.is_closing()

    async def read_into(self, answer: ResponseReader) -> None:
        """Wait for more of the answer."""
        try:
            data = await self.reader.read(READ_BYTES)
        except OSError as error:
            raise answer_lost(self.origin, error) from error
        if data:
            answer.feed(data)
        else:
            answer.end()

    async def request(self, data: bytes, answer: ResponseReader) -> None:
        """Send a request and wait for the head of the answer."""
        self.writer.write(data)
        while not answer.status:
            await self.read_into(answer)

    def close(self) -> None:
        """Close it without waiting."""
        self.writer.transport.abort()


class AsyncConnectionPool:
    """Sends requests over at most ``size`` connections; for one event loop."""

    def __init__(
        self, address: Address, size: int, clock: Clock, *, connect_s: float = CONNECT_TIMEOUT_S
    ) -> None:
        self.address = address
        self._connect_s = connect_s
        self._clock = clock
        self._free = asyncio.Semaphore(size)
        self._idle: deque[tuple[float, AsyncConnection]] = deque()
        self._closed = False

    async def exchange(self, request: HttpRequest, deadline: float) -> HttpResponse:
        """The answer to a request; raises NotSentError or AnswerLostError."""
        data = rendered(request, self.address.fixed_headers)
        try:
            async with asyncio.timeout(self._left_s(deadline)):
                await self._free.acquire()
        except TimeoutError as error:
            raise NotSentError(
                "every connection of this client is in use",
                hint="connect with a larger connections=, or make fewer calls at once",
            ) from error
        try:
            connection = self._idle_connection() or await self._connected(deadline)
            return await self._answered(connection, data, deadline)
        finally:
            self._free.release()

    async def open_stream(self, request: HttpRequest, deadline: float) -> AsyncStream:
        """Send a request on a new connection; returns when the head has arrived.

        The stream of an answer other than 200 is closed, and has the whole body.
        """
        connection = await self._connected(deadline)
        answer = ResponseReader()
        try:
            async with asyncio.timeout(self._left_s(deadline)):
                await connection.request(rendered(request, self.address.fixed_headers), answer)
                while answer.status != 200 and not answer.done:
                    await connection.read_into(answer)
        except TimeoutError as error:
            connection.close()
            raise answer_lost(self.address.origin, error) from error
        except BaseException:
            connection.close()
            raise
        if answer.status != 200:
            connection.close()
        return AsyncStream(answer, connection)

    def close(self) -> None:
        """Close every connection that is not in use; idempotent."""
        self._closed = True
        while self._idle:
            self._idle.pop()[1].close()

    async def _answered(
        self, connection: AsyncConnection, data: bytes, deadline: float
    ) -> HttpResponse:
        answer = ResponseReader()
        kept = False
        try:
            async with asyncio.timeout(self._left_s(deadline)):
                await connection.request(data, answer)
                while not answer.done:
                    await connection.read_into(answer)
            kept = answer.keeps_connection and not self._closed
        except TimeoutError as error:
            raise answer_lost(self.address.origin, error) from error
        finally:
            if kept:
                self._idle.append((self._clock.monotonic(), connection))
            else:
                connection.close()
        return HttpResponse(answer.status, answer.headers, answer.take())

    def _idle_connection(self) -> AsyncConnection | None:
        oldest = self._clock.monotonic() - IDLE_S
        while self._idle:
            since, connection = self._idle.pop()
            if since >= oldest and connection.is_usable:
                return connection
            connection.close()
        return None

    async def _connected(self, deadline: float) -> AsyncConnection:
        if self._closed:
            raise TableClosedError("this client is closed", hint="connect again")
        address = self.address
        try:
            async with asyncio.timeout(min(self._connect_s, self._left_s(deadline))):
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, ssl=address.tls, limit=READ_BYTES
                )
        except OSError as error:
            raise not_reachable(address.origin, error) from error
        return AsyncConnection(address.origin, reader, writer)

    def _left_s(self, deadline: float) -> float:
        return max(0.001, deadline - self._clock.monotonic())


class AsyncStream(HttpResponse):
    """An answer with a streaming body: read it piece by piece."""

    __slots__ = ("_connection", "_reader")

    def __init__(self, reader: ResponseReader, connection: AsyncConnection) -> None:
        super().__init__(reader.status, reader.headers, reader.take())
        self._reader = reader
        self._connection = connection

    async def read(self, timeout_s: float) -> bytes | None:
        """Received bytes; None if nothing arrived in time, and no bytes at the end."""
        if self._reader.done:
            return b""
        try:
            async with asyncio.timeout(timeout_s):
                await self._connection.read_into(self._reader)
        except TimeoutError:
            return None
        return self._reader.take() or (b"" if self._reader.done else None)

    def close(self) -> None:
        """End it."""
        self._connection.close()
