"""A network that a test controls: holds back, releases and cuts what goes to and from a broker.

It reads no more of Kafka's protocol than the length of each message and the API key of each
request. Held requests reach the broker later even if their sender is dead by then, as they would
from the queues of a slow network.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

PRODUCE = 0
END_TXN = 26

_LENGTH = struct.Struct(">i")
_API_KEY = struct.Struct(">h")
_FRAME_BYTES_MAX = 64 << 20
_GONE = (ConnectionError, asyncio.IncompleteReadError, OSError)
_CLOSE_S = 30.0
_LINGER_S = 2.0


class _Gate:
    """Open, or closed for messages of some API keys. Belongs to the event loop."""

    def __init__(self) -> None:
        self._closed_for: frozenset[int] = frozenset()
        self._open = asyncio.Event()
        self._open.set()
        self.waiting = 0

    def close_for(self, api_keys: frozenset[int]) -> None:
        self._closed_for = api_keys
        self._open.clear()

    def open(self) -> None:
        self._closed_for = frozenset()
        self._open.set()

    async def passed(self, api_key: int) -> None:
        if api_key in self._closed_for:
            self.waiting += 1
            await self._open.wait()
            self.waiting -= 1


class KafkaNetwork:
    """Proxies of several brokers under one control: all that one client has of a network."""

    def __init__(self, routes: dict[int, tuple[str, int]]) -> None:
        """``routes`` lead from ports of the proxy to addresses of brokers."""
        self._routes = routes
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafka-proxy")
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._requests = _Gate()
        self._answers = _Gate()

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._do(self._listen())

    def close(self) -> None:
        """Cut everything and listen no more."""
        self._do(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._loop.close()

    @property
    def held(self) -> int:
        """How many messages wait at the moment."""
        return self._requests.waiting + self._answers.waiting

    @contextmanager
    def holding_requests(self, *api_keys: int) -> Iterator[None]:
        """Until the end of the block, no request of these kinds reaches a broker."""
        with self._holding(self._requests, api_keys):
            yield

    @contextmanager
    def holding_answers(self, *api_keys: int) -> Iterator[None]:
        """Until the end of the block, no answer to such a request reaches the client."""
        with self._holding(self._answers, api_keys):
            yield

    def cut(self) -> None:
        """Close every connection; clients may connect again."""
        self._do(self._cut())

    @contextmanager
    def _holding(self, gate: _Gate, api_keys: tuple[int, ...]) -> Iterator[None]:
        self._loop.call_soon_threadsafe(gate.close_for, frozenset(api_keys))
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(gate.open)

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_CLOSE_S)

    # -- on the event loop ---------------------------------------------------------------------

    async def _listen(self) -> None:
        for port, broker in self._routes.items():

            async def serve(
                reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter,
                broker: tuple[str, int] = broker,
            ) -> None:
                await self._connection(reader, writer, broker)

            self._servers.append(await asyncio.start_server(serve, "127.0.0.1", port))

    async def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _shut(self) -> None:
        for server in self._servers:
            server.close()
        self._requests.open()
        self._answers.open()
        await self._cut()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_S / 2)

    async def _connection(
        self,
        client_reader: asyncio.StreamReader,
        client: asyncio.StreamWriter,
        address: tuple[str, int],
    ) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._writers.add(client)
        broker: asyncio.StreamWriter | None = None
        try:
            broker_reader, broker = await asyncio.open_connection(*address)
            self._writers.add(broker)
            asked: deque[int] = deque()
            answers = asyncio.create_task(self._pass_answers(broker_reader, client, asked))
            await self._pass_requests(client_reader, broker, asked)
            # The client is gone; what it sent is still handed over.
            await asyncio.wait([answers], timeout=_LINGER_S if asked else 0)
            answers.cancel()
            with suppress(asyncio.CancelledError):
                await answers
        except _GONE:
            pass
        finally:
            for writer in (client, broker):
                if writer is not None:
                    self._writers.discard(writer)
                    writer.close()

    async def _pass_requests(
        self, reader: asyncio.StreamReader, broker: asyncio.StreamWriter, asked: deque[int]
    ) -> None:
        with suppress(*_GONE):
            while True:
                frame = await _frame(reader)
                (api_key,) = _API_KEY.unpack_from(frame, _LENGTH.size)
                await self._requests.passed(api_key)
                asked.append(api_key)
                broker.write(frame)
                await broker.drain()

    async def _pass_answers(
        self, reader: asyncio.StreamReader, client: asyncio.StreamWriter, asked: deque[int]
    ) -> None:
        """Brokers answer the requests of a connection in order; all of them, with acks=all."""
        with suppress(*_GONE):
            while True:
                frame = await _frame(reader)
                await self._answers.passed(asked.popleft())
                client.write(frame)
                await client.drain()
        client.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(_LENGTH.size)
    (size,) = _LENGTH.unpack(head)
    if not 0 <= size <= _FRAME_BYTES_MAX:
        raise ConnectionError(f"not a message of Kafka's: {size} bytes")
    return head + await reader.readexactly(size)
