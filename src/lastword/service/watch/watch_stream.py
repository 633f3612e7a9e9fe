"""The answer to one watcher: events until the client leaves, is cut off, or loses its access."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from lastword.errors import LastwordError, WatchLostError
from lastword.records import Position
from lastword.service.api.operations import RequestCall
from lastword.service.http.answers import SECURITY_HEADERS
from lastword.service.http.auth import Access
from lastword.service.http.leaving import until_left
from lastword.service.watch.change_events import (
    CHUNK_BYTES,
    HEARTBEAT,
    Chunk,
    heartbeat,
    lost_event,
    start_event,
)
from lastword.service.watch.fanout import Fanout
from lastword.service.watch.watcher import Watcher

_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"connection", b"close"),  # so that the end of the connection is the end of the watch
    *SECURITY_HEADERS,
)
_END: Message = {"type": "http.response.body", "body": b""}


class WatchStream:
    """One watch, from its first event to the end of its connection.

    ``missed`` reads the changes between the requested position and the one where the watch joined;
    None if there are none. It ends soon after the watcher.
    """

    def __init__(
        self,
        call: RequestCall,
        fanout: Fanout,
        watcher: Watcher,
        start: Position,
        missed: Generator[Chunk, None, None] | None,
    ) -> None:
        self._call = call
        self._context = call.context
        self._heartbeat_s = call.context.limits.heartbeat_s
        self._fanout = fanout
        self._watcher = watcher
        self._start = start
        self._missed = missed
        self._check_at = 0.0
        self._sending = False
        self._torn = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client leaves, and wait until the connection is closed."""
        leaving = asyncio.create_task(self._leave_with_client(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._send(send, start_event(self._start))
            if self._missed is not None:
                await self._send_missed(send, self._missed, leaving)
            await self._send_changes(send)
            if self._watcher.lost is not None and not self._watcher.gone and not self._torn:
                await self._send(send, lost_event(self._watcher.lost))
        finally:
            self._fanout.leave(self._watcher)
            try:
                await send(_END)
                # Granian reports the end of the answer first, then that of the connection; what
                # it still has to write to a client that does not read keeps the second open.
                await leaving
                await receive()
            finally:
                self._fanout.closed()
                self._context.end_watch(self._watcher)

    async def _send_missed(
        self, send: Send, missed: Generator[Chunk, None, None], leaving: asyncio.Task[None]
    ) -> None:
        slot = asyncio.ensure_future(self._context.replays.acquire())
        try:
            await self._await(send, slot, leaving)
            if slot.done():
                await self._replay(send, missed, leaving)
        finally:
            if slot.done():
                self._context.replays.release()
            else:
                slot.cancel()

    async def _replay(
        self, send: Send, missed: Generator[Chunk, None, None], leaving: asyncio.Task[None]
    ) -> None:
        run = self._context.replay_reads.run
        try:
            while not self._watcher.ended:
                reading = asyncio.ensure_future(run(next, missed, None))
                await self._await(send, reading, leaving)
                chunk = await reading
                if chunk is None:
                    return
                await self._deliver(send, chunk.data)
        except LastwordError as error:
            self._watcher.cut_off(
                WatchLostError(
                    f"the changes since then cannot be read from the log: {error}",
                    hint="read the table, then watch from the position of that answer",
                )
            )
        finally:
            await run(missed.close)

    async def _await(
        self, send: Send, work: asyncio.Future[Any], leaving: asyncio.Task[None]
    ) -> None:
        """Send heartbeats until ``work`` is done or the watch has ended."""
        while not work.done() and not self._watcher.ended:
            await asyncio.wait(
                (work, leaving),
                timeout=self._heartbeat_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not work.done():
                await self._deliver(send, HEARTBEAT)

    async def _send_changes(self, send: Send) -> None:
        while not self._watcher.ended:
            chunk = await self._watcher.take(self._heartbeat_s)
            # Without a chunk it has taken everything up to the fanout's position.
            data = heartbeat(self._fanout.position) if chunk is None else chunk.data
            await self._deliver(send, data)

    async def _deliver(self, send: Send, data: bytes) -> None:
        """Send data, if the caller still has access."""
        now = self._context.clock.monotonic()
        if now >= self._check_at:
            self._check_at = now + self._heartbeat_s / 2
            try:
                self._call.require_still(Access.READ)
            except LastwordError as error:
                self._watcher.cut_off(error)
        if not self._watcher.ended:
            await self._send(send, data)

    async def _send(self, send: Send, data: bytes) -> None:
        """Send in pieces; how long a client may take none of them is the connection's limit."""
        for at in range(0, len(data), CHUNK_BYTES):
            piece = data[at : at + CHUNK_BYTES]
            self._sending = True
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self._sending = False
            if self._watcher.ended and at + CHUNK_BYTES < len(data):
                self._torn = True  # another event would continue this one
                return

    async def _leave_with_client(self, receive: Receive) -> None:
        await until_left(receive)
        if self._sending:
            self._watcher.cut_off(WatchLostError("the watcher takes nothing any more"))
        self._watcher.leave()
