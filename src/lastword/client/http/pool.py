"""Connections to one service for threads: a few stay open, each used by one call at a time."""

from __future__ import annotations

import os
import socket
import threading
from collections import deque

from lastword.client.http.address import Address
from lastword.client.http.connection import CONNECT_TIMEOUT_S, BlockingConnection
from lastword.client.http.failures import NotSentError
from lastword.client.http.messages import HttpRequest, HttpResponse, rendered
from lastword.client.http.response_reader import ResponseReader
from lastword.clock import Clock
from lastword.errors import TableClosedError

# The service closes a connection that is idle for ten seconds; one of ours is not used that long.
IDLE_S = 5.0


class ConnectionPool:
    """Sends requests over at most ``size`` connections. Safe to use from any thread."""

    def __init__(
        self, address: Address, size: int, clock: Clock, *, connect_s: float = CONNECT_TIMEOUT_S
    ) -> None:
        self.address = address
        self._connect_s = connect_s
        self._clock = clock
        self._free = threading.Semaphore(size)
        self._idle: deque[tuple[float, BlockingConnection]] = deque()
        self._process = os.getpid()
        self._closed = False

    def exchange(self, request: HttpRequest, deadline: float) -> HttpResponse:
        """The answer to a request; raises NotSentError or AnswerLostError."""
        if not self._free.acquire(timeout=max(0.0, deadline - self._clock.monotonic())):
            raise NotSentError(
                "every connection of this client is in use",
                hint="connect with a larger connections=, or make fewer calls at once",
            )
        try:
            return self._exchange(rendered(request, self.address.fixed_headers), deadline)
        finally:
            self._free.release()

    def open_stream(self, request: HttpRequest, deadline: float) -> BlockingStream:
        """Send a request on a new connection; returns when the head has arrived.

        The stream of an answer other than 200 is closed, and has the whole body.
        """
        connection = self._connected(deadline)
        try:
            connection.send(rendered(request, self.address.fixed_headers), self._left_s(deadline))
            reader = ResponseReader()
            while not reader.status or (reader.status != 200 and not reader.done):
                connection.read_into(reader, self._left_s(deadline))
        except BaseException:
            connection.close()
            raise
        if reader.status != 200:
            connection.close()
        return BlockingStream(reader, connection)

    def close(self) -> None:
        """Close every connection that is not in use; idempotent."""
        self._closed = True
        while self._idle:
            self._idle.pop()[1].close()

    def _exchange(self, data: bytes, deadline: float) -> HttpResponse:
        connection = self._idle_connection() or self._connected(deadline)
        kept = False
        try:
            connection.send(data, self._left_s(deadline))
            reader = ResponseReader()
            while not reader.done:
                connection.read_into(reader, self._left_s(deadline))
            kept = reader.keeps_connection and not self._closed
        finally:
            if kept:
                self._idle.append((self._clock.monotonic(), connection))
            else:
                connection.close()
        return HttpResponse(reader.status, reader.headers, reader.take())

    def _idle_connection(self) -> BlockingConnection | None:
        if self._process != os.getpid():  # a fork: the parent uses these connections
            self._process = os.getpid()
            self._idle = deque()
        oldest = self._clock.monotonic() - IDLE_S
        while True:
            try:
                since, connection = self._idle.pop()
            except IndexError:
                return None
            if since >= oldest and connection.is_usable():
                return connection
            connection.close()

    def _connected(self, deadline: float) -> BlockingConnection:
        if self._closed:
            raise TableClosedError("this client is closed", hint="connect again")
        timeout_s = min(self._connect_s, self._left_s(deadline))
        return BlockingConnection(self.address, timeout_s)

    def _left_s(self, deadline: float) -> float:
        return max(0.001, deadline - self._clock.monotonic())


class BlockingStream(HttpResponse):
    """An answer with a streaming body: read it piece by piece; any thread may close it."""

    __slots__ = ("_connection", "_reader")

    def __init__(self, reader: ResponseReader, connection: BlockingConnection) -> None:
        super().__init__(reader.status, reader.headers, reader.take())
        self._reader = reader
        self._connection = connection

    def read(self, timeout_s: float) -> bytes | None:
        """Received bytes; None if nothing arrived in time, and no bytes at the end."""
        if self._reader.done:
            return b""
        try:
            self._connection.wait_and_read(self._reader, timeout_s)
        except TimeoutError:
            return None
        return self._reader.take() or (b"" if self._reader.done else None)

    def close(self) -> None:
        """End it; a waiting reader gets AnswerLostError or the end."""
        self._connection.close(socket.SHUT_RDWR)
