"""A TCP relay that cuts connections: all that there are, or each before its answer passes."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType

_HOST = "127.0.0.1"
_BYTES = 64 << 10


class CuttingRelay:
    """Passes bytes between clients and one server, on a separate thread.

    ``requests`` counts the pieces that came from clients. While ``losing_answers`` is set, a
    connection is cut as soon as the server answers: the request is done, the answer is ``lost``.
    """

    def __init__(self, port: int) -> None:
        self.losing_answers = False
        self.requests = 0
        self.lost = 0
        self.port = 0
        self._target = port
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay")

    def cut(self) -> None:
        """Reset every connection that is open now."""
        self._call(self._cut())

    def __enter__(self) -> CuttingRelay:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: asyncio.Future[None] | object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(180)  # type: ignore[arg-type]

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._relay, _HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        await self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(_HOST, self._target)
        self._writers |= {writer, there[1]}
        ways = (self._pass(reader, there[1], is_answer=False), self._pass(there[0], writer))
        await asyncio.gather(*ways, return_exceptions=True)
        for each in (writer, there[1]):
            each.transport.abort()
            self._writers.discard(each)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool = True
    ) -> None:
        while data := await reader.read(_BYTES):
            if is_answer and self.losing_answers:
                self.lost += 1
                break
            self.requests += not is_answer
            writer.write(data)
        writer.transport.abort()
