"""Watching a table: server-sent events that never leave a change out in silence."""

from __future__ import annotations

from collections.abc import Generator

from msgspec import UNSET
from starlette.types import ASGIApp

from lastword.errors import WatchLostError
from lastword.kafka.log_reader import read_range
from lastword.records import Position
from lastword.service.events import Chunk, EventEncoder
from lastword.service.operations import Call, parse_position
from lastword.service.served import ServedTable
from lastword.service.shapes import WatchQuery
from lastword.service.waiting import wait_for_position
from lastword.service.watch_stream import WatchStream
from lastword.service.watcher import Watcher

# A replay goes at its client's pace, so it reads ahead less than a restore does.
_REPLAY_QUEUE_BYTES = 4 << 20


async def watch(call: Call) -> ASGIApp:
    """Changes from now on, or after the position that the caller has seen."""
    query: WatchQuery = call.query
    context, served = call.context, call.served
    asked = call.headers.get(b"last-event-id")
    text = asked.decode("latin-1") if asked is not None else query.since
    since = Position() if text is UNSET or not text else parse_position(text)
    await wait_for_position(served, since, context.limits.at_least_s, context.clock)
    _refuse_what_is_gone(served, since)
    fanout, watcher = context.fanout(served), context.begin_watch()
    try:
        joined = await fanout.join(watcher, since)
    except BaseException:
        context.end_watch(watcher)
        raise
    start = Position({**joined.offsets, **since.offsets})
    missed = None if start.at_least(joined) else _missed(served, start, joined, watcher)
    return WatchStream(call, fanout, watcher, start, missed)


def _missed(
    served: ServedTable, start: Position, joined: Position, watcher: Watcher
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


def _refuse_what_is_gone(served: ServedTable, since: Position) -> None:
    starts = served.raw.parts.tailer.facts.starts
    for partition, offset in since.offsets.items():
        if offset < starts[partition]:
            raise WatchLostError(
                f"partition {partition} starts at {starts[partition]} now, after {offset}",
                hint="read the table, then watch from the position of that answer",
            )
