"""Watching a table: server-sent events that never skip a change silently."""

from __future__ import annotations

from collections.abc import Generator

from msgspec import UNSET
from starlette.types import ASGIApp

from lastword.errors import WatchLostError
from lastword.records import Position
from lastword.replicas.watch.missed import MissedChanges
from lastword.service.api.operations import RequestCall, parse_position
from lastword.service.api.position_wait import (
    require_partitions,
    wait_for_position,
    wait_for_writes,
)
from lastword.service.api.served import ServedTable
from lastword.service.watch.change_events import Chunk, EventEncoder
from lastword.service.watch.shapes_watch import WatchQuery
from lastword.service.watch.watch_stream import WatchStream
from lastword.service.watch.watcher import Watcher

# A replay goes at its client's pace, so it reads ahead less than a restore does.
_REPLAY_QUEUE_BYTES = 4 << 20


async def watch(call: RequestCall) -> ASGIApp:
    """Changes from now on, or after the position that the caller has seen."""
    query: WatchQuery = call.query
    context, served = call.context, call.served
    asked = call.headers.get(b"last-event-id")
    text = asked.decode("latin-1") if asked is not None else query.since
    since = Position() if text is UNSET or not text else parse_position(text)
    require_partitions(served, since)
    missed = served.raw.missed(since)
    await wait_for_position(served, since, context.limits.at_least_s, context.clock)
    await wait_for_writes(served, None, context.limits.at_least_s, context.clock)
    fanout, watcher = context.fanout(served), context.begin_watch()
    try:
        joined = await fanout.join(watcher, since)
    except BaseException:
        context.end_watch(watcher)
        raise
    try:
        # A sweep may have dropped rows since the first look; from here on the watcher gets such
        # deletes.
        missed.check()
    except WatchLostError:
        fanout.leave(watcher)
        fanout.closed()
        context.end_watch(watcher)
        raise
    start = missed.start(joined)
    chunks = None if start.at_least(joined) else _encoded(served, missed, joined, watcher)
    return WatchStream(call, fanout, watcher, start, chunks)


def _encoded(
    served: ServedTable, missed: MissedChanges, joined: Position, watcher: Watcher
) -> Generator[Chunk, None, None]:
    """The changes between the requested position and the one where the watch joined, as events."""
    encoder = EventEncoder(served, missed.start(joined))
    batches = missed.batches(
        joined, stopping=lambda: watcher.ended, queue_bytes=_REPLAY_QUEUE_BYTES
    )
    for batch in batches:
        yield from encoder.chunks([batch])
