"""The network in front of one instance's peer endpoint: passes bytes, or goes silent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.support.shared_tables.peer_pair import SECRET

_BYTES = 64 << 10
_CLOSE_S = 30.0
_AGAIN_S = 0.1
_GONE = (ConnectionError, OSError)


class PeerRelay:
    """Other instances reach the instance through this; ``settings`` is what it listens with.

    The relay and the instance use the same port on two loopback addresses, because an instance
    advertises its own port. While it is ``silent``, connections are accepted and nothing passes.
    """

    def __init__(self, number: int) -> None:
        self._own_host, self._instance_host = f"127.0.2.{number}", f"127.0.1.{number}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="peer-relay")
        self._passing = asyncio.Event()
        self._passing.set()
        self._port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> PeerRelay:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._passing.set)
        self._do(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._loop.close()

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the instance's PeerSettings."""
        return {
            "host": self._instance_host,
            "port": self._port,
            "advertised_host": self._own_host,
            "secret": SECRET,
        }

    @contextmanager
    def silent(self) -> Iterator[None]:
        """During the block the instance answers nobody and refuses nobody."""
        self._loop.call_soon_threadsafe(self._passing.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._passing.set)

    def cut(self) -> None:
        """Reset every connection; new ones are accepted."""
        self._do(self._cut())

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Until the end of the block nobody listens, as if the instance had ended."""
        self._do(self._shut())
        try:
            yield
        finally:
            self._do(self._listen())

    def _do(self, what: Any) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_CLOSE_S)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connection, self._own_host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _shut(self) -> None:
        # asyncio never closes a connection that it accepted just before its server was closed.
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        tasks = asyncio.all_tasks()
        if accepting := [each for each in tasks if "_accept_connection2" in repr(each)]:
            await asyncio.wait(accepting)
        self._server.close()
        # A connection that was accepted just now becomes a task only after another one.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await self._cut()
            await asyncio.wait(others, timeout=_AGAIN_S)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            there, into = await asyncio.open_connection(self._instance_host, self._port)
        except _GONE:
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(into)
        await asyncio.gather(self._pass(reader, into), self._pass(there, writer))
        self._writers -= {writer, into}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GONE):
            while data := await reader.read(_BYTES):
                await self._passing.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
