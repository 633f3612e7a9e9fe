"""Watching a table: server-sent events that never leave a change out in silence."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from msgspec import UNSET
from starlette.types import ASGIApp, Receive, Scope, Send

from lastword.errors import LastwordError, WatchLostError
from lastword.kafka.log_reader import read_range
from lastword.records import Position
from lastword.service.answers import SECURITY_HEADERS
from lastword.service.context import Context
from lastword.service.events import HEARTBEAT, Chunk, EventEncoder, lost_event, start_event
from lastword.service.fanout import Fanout
from lastword.service.operations import Call, parse_position
from lastword.service.problems import RefusedError
from lastword.service.served import ServedTable
from lastword.service.shapes import WatchQuery
from lastword.service.waiting import wait_for_position
from lastword.service.watcher import Watcher

_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    *SECURITY_HEADERS,
)


async def watch(call: Call) -> ASGIApp:
    """Changes from now on, or after the position that the caller has seen."""
    query: WatchQuery = call.query
    context, served = call.context, call.served
    asked = call.headers.get(b"last-event-id")
    text = asked.decode("latin-1") if asked is not None else query.since
    since = Position() if text is UNSET or not text else parse_position(text)
    await wait_for_position(served, since, context.limits.at_least_s, context.clock)
    _refuse_what_is_gone(served, since)
    if context.watching >= context.limits.watchers:
        raise RefusedError(
            503, "TooManyWatchers", f"{context.watching} watch already", hint="come back later"
        )
    context.watching += 1
    watcher = Watcher(context.limits.watcher_backlog_bytes)
    try:
        fanout = context.fanout(served)
        joined = await fanout.join(watcher, since)
    except BaseException:
        context.watching -= 1
        raise
    start = Position({**joined.offsets, **since.offsets})
    missed = _missed(served, start, joined)
    return WatchStream(context, fanout, watcher, start, missed)


class WatchStream:
    """The answer to one watcher, from its first event to its last."""

    def __init__(
        self,
        context: Context,
        fanout: Fanout,
        watcher: Watcher,
        start: Position,
        missed: Generator[Chunk, None, None],
    ) -> None:
        self._context = context
        self._fanout = fanout
        self._watcher = watcher
        self._start = start
        self._missed = missed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client leaves or is cut off."""
        leaving = asyncio.create_task(self._leave_with_client(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._send(send, start_event(self._start))
            # Each replay has a Kafka client of its own: a hundred at once would be too many.
            async with self._context.replays:
                await self._send_missed(send)
            await self._send_changes(send)
        except TimeoutError:
            # It takes nothing at all, so it cannot be told; the broken connection tells it.
            self._watcher.cut_off(WatchLostError("the watcher takes nothing any more"))
        finally:
            leaving.cancel()
            self._fanout.leave(self._watcher)
            self._context.watching -= 1

    async def _send_missed(self, send: Send) -> None:
        """What lies between the position asked for and the one joined at: only the log has it."""
        run = self._context.log_passes.run
        try:
            while not self._watcher.ended:
                chunk = await run(next, self._missed, None)
                if chunk is None:
                    return
                await self._send(send, chunk.data)
        except LastwordError as error:
            self._watcher.cut_off(
                WatchLostError(
                    f"the changes since then cannot be read from the log: {error}",
                    hint="read the table, then watch from the position of that answer",
                )
            )
        finally:
            await run(self._missed.close)

    async def _send_changes(self, send: Send) -> None:
        watcher = self._watcher
        while not watcher.ended:
            chunk = await watcher.take(self._context.limits.heartbeat_s)
            if chunk is not None:
                await self._send(send, chunk.data)
            elif not watcher.ended:
                await self._send(send, HEARTBEAT)
        if watcher.lost is not None and not watcher.gone:
            await self._send(send, lost_event(watcher.lost))
            await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send, data: bytes) -> None:
        async with asyncio.timeout(self._context.limits.arrival_s):
            await send({"type": "http.response.body", "body": data, "more_body": True})

    async def _leave_with_client(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._watcher.leave()


def _missed(served: ServedTable, start: Position, joined: Position) -> Generator[Chunk, None, None]:
    encoder = EventEncoder(served, start)
    ranges = {p: (offset, joined.offsets[p]) for p, offset in start.offsets.items()}
    for batch in read_range(served.raw.connection, served.table.topic, ranges):
        yield encoder.chunk([batch])


def _refuse_what_is_gone(served: ServedTable, since: Position) -> None:
    starts = served.raw.parts.tailer.facts.starts
    for partition, offset in since.offsets.items():
        if offset < starts[partition]:
            raise WatchLostError(
                f"partition {partition} starts at {starts[partition]} now, after {offset}",
                hint="read the table, then watch from the position of that answer",
            )
