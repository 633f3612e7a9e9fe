"""Watching a table: server-sent events that never leave a change out in silence."""

from __future__ import annotations

from collections.abc import Generator

from msgspec import UNSET
from starlette.types import ASGIApp

from lastword.errors import WatchLostError
from lastword.kafka.log.reader import read_range
from lastword.records import Position
from lastword.replicas.watch.resume import refuse_what_is_gone, refuse_what_may_be_missing
from lastword.service.api.operations import Call, parse_position
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import WatchQuery
from lastword.service.api.waiting import require_partitions, wait_for_position
from lastword.service.watch.events import Chunk, EventEncoder
from lastword.service.watch.watch_stream import WatchStream
from lastword.service.watch.watcher import Watcher

# A replay goes at its client's pace, so it reads ahead less than a restore does.
_REPLAY_QUEUE_BYTES = 4 << 20


async def watch(call: Call) -> ASGIApp:
    """Changes from now on, or after the position that the caller has seen."""
    query: WatchQuery = call.query
    context, served = call.context, call.served
    asked = call.headers.get(b"last-event-id")
    text = asked.decode("latin-1") if asked is not None else query.since
    since = Position() if text is UNSET or not text else parse_position(text)
    replicas = served.raw.parts.replicas
    require_partitions(served, since)
    refuse_what_is_gone(since, replicas.topic_state, replicas.held)
    await wait_for_position(served, since, context.limits.at_least_s, context.clock)
    fanout, watcher = context.fanout(served), context.begin_watch()
    try:
        joined = await fanout.join(watcher, since)
    except BaseException:
        context.end_watch(watcher)
        raise
    try:
        # A sweep may have dropped rows since the first look; from here on the watcher hears of it.
        refuse_what_may_be_missing(since, replicas.held)
    except WatchLostError:
        fanout.leave(watcher)
        fanout.closed()
        context.end_watch(watcher)
        raise
    start = _start(since, joined)
    missed = None if start.at_least(joined) else _missed(served, start, joined, since, watcher)
    return WatchStream(call, fanout, watcher, start, missed)


def _start(since: Position, joined: Position) -> Position:
    """Where the watch begins: where it asked for, and for the rest where it joined."""
    complete_at_ms = joined.complete_at_ms
    if since.offsets:
        complete_at_ms = min(complete_at_ms, since.complete_at_ms)
    return Position({**joined.offsets, **since.offsets}, joined.topic_id, complete_at_ms)


def _missed(
    served: ServedTable, start: Position, joined: Position, since: Position, watcher: Watcher
) -> Generator[Chunk, None, None]:
    """What lies between the position asked for and the one joined at: only the log has it."""
    encoder = EventEncoder(served, start)
    ranges = {p: (offset, joined.offsets[p]) for p, offset in start.offsets.items()}
    batches = read_range(
        served.raw.connection,
        served.table.topic,
        ranges,
        stopping=lambda: watcher.ended,
        queue_bytes=_REPLAY_QUEUE_BYTES,
    )
    for batch in batches:
        yield from encoder.chunks([batch])
    refuse_what_may_be_missing(since, served.raw.parts.replicas.held)
