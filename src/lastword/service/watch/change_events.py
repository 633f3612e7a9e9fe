"""Changes as server-sent events, each encoded once for all watchers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec
from msgspec import UNSET, Raw

from lastword.errors import LastwordError
from lastword.records import Batch, Position, Record, Version
from lastword.replicas.watch.feed import (
    Dropped,
    FeedItem,
    PartitionGained,
    PartitionLost,
    partition_left,
)
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes import JSON_NULL
from lastword.service.http.answers import encoded_problem
from lastword.service.watch.shapes_watch import ChangeEvent, WatchStart

CHUNK_BYTES = 64 << 10
HEARTBEAT = b": still here\n\n"
_RETRY_MS = 1000

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True, eq=False)
class Chunk:
    """Events ready to be sent, and where a watcher is that has seen them.

    At most CHUNK_BYTES, unless it is one event that is larger. ``holders`` are the watchers it
    waits for.
    """

    data: bytes
    position: Position
    changes: int
    timestamp_ms: int | None
    holders: int = 0


def start_event(position: Position) -> bytes:
    """The first event: the start position, and how soon to reconnect when cut off."""
    data = _encode(WatchStart(str(position)))
    return b"retry: %d\nid: %b\nevent: start\ndata: %b\n\n" % (
        _RETRY_MS,
        str(position).encode(),
        data,
    )


def heartbeat(position: Position) -> bytes:
    """No event, only the id to resume with: the id of a quiet watch must not become too old."""
    return b"id: %b\n: still here\n\n" % str(position).encode()


def lost_event(error: LastwordError) -> bytes:
    """The last event, with the reason. It has no id: a client resumes from the one before."""
    return b"event: lost\ndata: %b\n\n" % encoded_problem(error)


class EventEncoder:
    """Turns batches of one table into events. Not safe across threads."""

    def __init__(self, served: ServedTable, position: Position) -> None:
        self._served = served
        self._records_of_table = served.raw.records_of_table
        self._position = dict(position.offsets)
        self._origin = position

    def chunks(
        self, items: Iterable[FeedItem], complete_at_ms: int | None = None
    ) -> Iterator[Chunk]:
        """The events of these, one after the other; at least one chunk, if only of a position.

        ``complete_at_ms`` is that of the position before them. Raises WatchLostError after the
        events that come before a partition's departure.
        """
        if complete_at_ms is not None:
            self._origin = replace(self._origin, complete_at_ms=complete_at_ms)
        events: list[bytes] = []
        size = 0
        timestamp_ms: int | None = None
        for item in items:
            if isinstance(item, Batch):
                timestamp_ms = int(item.timestamps[-1])
            if isinstance(item, PartitionLost):
                yield self._chunk(events, timestamp_ms)
                raise partition_left(self._served.table.topic, item)
            for event in self._events(item):
                if events and size + len(event) > CHUNK_BYTES:
                    yield self._chunk(events, timestamp_ms)
                    events, size = [], 0
                events.append(event)
                size += len(event)
        yield self._chunk(events, timestamp_ms)

    def _chunk(self, events: list[bytes], timestamp_ms: int | None) -> Chunk:
        return Chunk(b"".join(events), self._reached(), len(events), timestamp_ms)

    def advance(self, position: Position) -> Chunk:
        """The log advanced without a change."""
        self._position.update(position.offsets)
        self._origin = position
        return Chunk(b"", self._reached(), 0, None)

    def _reached(self) -> Position:
        return replace(self._origin, offsets=dict(self._position))

    def _events(self, item: Batch | Dropped | PartitionGained) -> Iterable[bytes]:
        if isinstance(item, Batch):
            return self._changes(item)
        if isinstance(item, Dropped):
            return self._swept(item)
        self._position[item.partition] = item.offset
        return ()

    def _changes(self, batch: Batch) -> Iterator[bytes]:
        """The events of a batch; while one is handed over, the position is the one before it."""
        before, after = self._around(batch.partition)
        for record in self._records_of_table(batch):
            if record.offset < self._position[batch.partition]:
                continue
            data = self._data(record)
            if data is not None:
                name = b"delete" if record.value is None else b"put"
                yield (
                    b"id: %b%d%b\nevent: %b\ndata: %b\n\n"
                    % (before, record.offset + 1, after, name, data)
                )
            self._position[batch.partition] = record.offset + 1
        self._position[batch.partition] = max(self._position[batch.partition], batch.next_offset)

    def _around(self, partition: int) -> tuple[bytes, bytes]:
        """What stands in an id before and after the offset of ``partition``."""
        ordered = sorted(self._position.items())
        before = "".join(f"{p}:{offset}," for p, offset in ordered if p < partition)
        after = "".join(f",{p}:{offset}" for p, offset in ordered if p > partition)
        return f"{before}{partition}:".encode(), (after + self._origin.suffix).encode()

    def _data(self, record: Record) -> bytes | None:
        """The change; None when it is bad and the policy says to skip it."""
        served, raw_key = self._served, record.key or b""
        version = Version(record.partition, record.offset)
        key, base64url = served.shown_key(raw_key, "text")
        event = ChangeEvent(
            key=key,
            version=str(version),
            timestamp=record.timestamp_ms,
            raw_key=UNSET if base64url is None else base64url,
            window=served.shown_window(raw_key) or UNSET,
        )
        if record.value is not None:
            value, raw_value, error = served.shown_value(record.value, record.headers, version)
            if value is None and raw_value is None:
                return None
            event.value = JSON_NULL if value is None else Raw(_on_one_line(value))
            event.raw_value = UNSET if raw_value is None else raw_value
            event.error = UNSET if error is None else error
        return _encode(event)

    def _swept(self, dropped: Dropped) -> list[bytes]:
        """Deletes whose tombstones are gone, so that they have no offset any more."""
        events = []
        for raw in dropped.keys:
            key, base64url = self._served.shown_key(raw, "text")
            event = ChangeEvent(
                key=key,
                raw_key=UNSET if base64url is None else base64url,
                window=self._served.shown_window(raw) or UNSET,
            )
            events.append(b"event: delete\ndata: %b\n\n" % _encode(event))
        return events


def _on_one_line(document: bytes) -> bytes:
    """The same JSON without line breaks, which would end an event or a line."""
    if b"\n" in document or b"\r" in document:
        return msgspec.json.format(document, indent=-1)
    return document
