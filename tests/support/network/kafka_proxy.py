"""A proxy between a client and brokers that holds back, releases and cuts what passes it.

    with KafkaProxy(broker.bootstrap_servers) as proxy:
        connection = Connection(bootstrap_servers=proxy.bootstrap_servers)
        with proxy.holding("request", PRODUCE) as held:
            ...                      # a client sends a batch and waits
            held.wait_for(1)
        # at the end of the block it goes on, even if its client is gone by now

It reads no more of Kafka's protocol than the length of each message and the API key of each
request, and replaces the addresses of the brokers in every answer, so that clients stay behind it.
Held requests reach the broker later even if their sender is dead by then, as they would from the
queues of a slow network.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections import Counter, deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal
from weakref import WeakSet

from lastword.testing import wait_until

PRODUCE = 0
FETCH = 1
METADATA = 3
END_TXN = 26

Direction = Literal["request", "response"]

_HOST = "127.0.0.1"
_LENGTH = struct.Struct(">i")
_API_KEY = struct.Struct(">h")
_FRAME_BYTES_MAX = 64 << 20
_GONE = (ConnectionError, asyncio.IncompleteReadError, OSError)
_CLOSE_S = 30.0
_LINGER_S = 2.0
_AGAIN_S = 0.1


class Held:
    """Messages of some kinds that wait for a test; ``count`` says how many there have been."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.count = 0
        self._loop = loop
        self._free = asyncio.Event()

    def wait_for(self, count: int, timeout_s: float = 180.0) -> None:
        wait_until(lambda: self.count >= count, f"{count} held messages", timeout=timeout_s)

    def release(self) -> None:
        """Release them, and let later ones pass."""
        self._loop.call_soon_threadsafe(self._free.set)

    async def stop(self) -> None:
        """On the event loop: wait for the release."""
        self.count += 1
        await self._free.wait()


class KafkaProxy:
    """All that one client has of a network: listens once for each broker.

    ``passed`` counts messages by (direction, API key).
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.passed: Counter[tuple[Direction, int]] = Counter()
        self._brokers = [int(each.rpartition(":")[2]) for each in bootstrap_servers.split(",")]
        self._ports: dict[int, int] = {}
        self._held: dict[tuple[Direction, int], Held] = {}
        self._cuts: Counter[tuple[Direction, int]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafka-proxy")
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._transports: WeakSet[asyncio.WriteTransport] = WeakSet()

    def __enter__(self) -> KafkaProxy:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._loop.close()

    @property
    def bootstrap_servers(self) -> str:
        """Where a client connects."""
        return ",".join(f"{_HOST}:{port}" for port in self._ports.values())

    @contextmanager
    def holding(self, direction: Direction, *api_keys: int) -> Iterator[Held]:
        """Messages of these kinds wait until ``release`` or the end of the block."""
        held = Held(self._loop)
        for api_key in api_keys:
            self._held[direction, api_key] = held
        try:
            yield held
        finally:
            for api_key in api_keys:
                del self._held[direction, api_key]
            held.release()

    def cut_next(self, direction: Direction, api_key: int) -> None:
        """Break the connection instead of passing the next message of this kind on."""
        self._cuts[direction, api_key] += 1

    def cut(self) -> None:
        """Close every connection; clients may connect again."""
        self._do(self._cut())

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_CLOSE_S)

    # -- on the event loop ---------------------------------------------------------------------

    async def _listen(self) -> None:
        for broker in self._brokers:

            async def serve(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: int = broker
            ) -> None:
                await self._connection(reader, writer, broker)

            server = await asyncio.start_server(serve, _HOST, 0)
            self._servers.append(server)
            self._ports[broker] = server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _shut(self) -> None:
        for server in self._servers:
            server.close()
        for held in self._held.values():
            held.release()
        # A connection that was accepted just now becomes a task only after another one.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await self._cut()
            await asyncio.wait(others, timeout=_AGAIN_S)
        # One that is closed waits until everything is sent, and nobody may read it any more.
        for transport in list(self._transports):
            transport.abort()

    async def _connection(
        self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter, port: int
    ) -> None:
        self._writers.add(client)
        self._transports.add(client.transport)
        broker: asyncio.StreamWriter | None = None
        try:
            broker_reader, broker = await asyncio.open_connection(_HOST, port)
            self._writers.add(broker)
            self._transports.add(broker.transport)
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
                await self._admit("request", api_key)
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
                api_key = asked.popleft()
                await self._admit("response", api_key)
                with suppress(*_GONE):  # what the broker says to a client that is gone counts, too
                    client.write(self._moved(frame))
                    await client.drain()
        client.transport.abort()

    async def _admit(self, direction: Direction, api_key: int) -> None:
        """Wait while messages of this kind are held; raises ConnectionError for one to be cut."""
        kind = direction, api_key
        if (held := self._held.get(kind)) is not None:
            await held.stop()
        if self._cuts[kind] > 0:
            self._cuts[kind] -= 1
            raise ConnectionError("cut")
        self.passed[kind] += 1

    def _moved(self, frame: bytes) -> bytes:
        """With the proxy's ports in place of the brokers'; host and port stand together."""
        if _HOST.encode() in frame:
            for port, own in self._ports.items():
                theirs, ours = (_HOST.encode() + _LENGTH.pack(each) for each in (port, own))
                frame = frame.replace(theirs, ours)
        return frame


async def _frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(_LENGTH.size)
    (size,) = _LENGTH.unpack(head)
    if not 0 <= size <= _FRAME_BYTES_MAX:
        raise ConnectionError(f"not a message of Kafka's: {size} bytes")
    return head + await reader.readexactly(size)
