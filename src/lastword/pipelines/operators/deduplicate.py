"""Drops events whose message id was seen before in the partition.

Time is stream time, which advances with every event, so the result does not depend on how the
events were split into batches.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass

from lastword.deduplication.bloom import BloomDeduplicator, id_bytes
from lastword.pipelines.api.folds import Field, pick
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView

_TIME_BYTES = 8


@dataclass(frozen=True)
class DeduplicateWithin(Operator):
    """Exact: an id is remembered for ``window_ms`` after the event that passed."""

    id_field: Field
    window_ms: int

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """The events that are not duplicates, including those without an id."""
        (state,) = states
        before_ms = context.stream_time_ms
        ids = message_ids(self.id_field, events, context)
        rows = list({row for _, row in ids if row is not None})
        seen = {
            row: int.from_bytes(at, "big")
            for row, at in zip(rows, state.get_many(rows), strict=True)
            if at is not None
        }
        kept: list[int] = []
        for i, row in ids:
            now_ms = context.stream_time_ms = max(context.stream_time_ms, events.timestamps[i])
            if row is not None:
                if row in seen and now_ms - seen[row] < self.window_ms:
                    context.tally.duplicates += 1
                    continue
                seen[row] = now_ms
                state.put(row, now_ms.to_bytes(_TIME_BYTES, "big"), now_ms)
            kept.append(i)
        self._forget(before_ms, state, context.stream_time_ms)
        return events.take(kept)

    def _forget(self, before_ms: int, state: StateView, now_ms: int) -> None:
        """Drop ids older than the window, a quarter of it at a time: each pass reads the store."""
        quarter_ms = max(self.window_ms // 4, 1)
        if before_ms // quarter_ms == now_ms // quarter_ms:
            return
        expired = [
            row
            for row, at in state.scan(None, None)
            if now_ms - int.from_bytes(at, "big") >= self.window_ms
        ]
        for row in expired:
            state.put(row, None, now_ms)


@dataclass(frozen=True)
class DeduplicateByBloom(Operator):
    """Approximate: remembers the last ``capacity`` ids of the partition in fixed memory."""

    id_field: Field
    capacity: int
    false_positive_rate: float

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """The events that are not duplicates; a few others are dropped as false positives."""
        (state,) = states
        pages = _Pages(state)
        seen = BloomDeduplicator(
            capacity=self.capacity, false_positive_rate=self.false_positive_rate, pages=pages
        )
        kept: list[int] = []
        for i, row in message_ids(self.id_field, events, context):
            context.stream_time_ms = max(context.stream_time_ms, events.timestamps[i])
            if row is not None and seen.is_duplicate(row):
                context.tally.duplicates += 1
            else:
                kept.append(i)
        pages.write(context.stream_time_ms)
        return events.take(kept)


def message_ids(
    id_field: Field, events: Events, context: BatchContext
) -> list[tuple[int, bytes | None]]:
    """The id of each event; None if it has none. Events whose id function fails are quarantined."""
    ids: list[tuple[int, bytes | None]] = []
    for i, value in enumerate(events.values):
        try:
            found = None if value is None else pick(id_field, value)
            ids.append((i, None if found is None else id_bytes(found)))
        except Exception as error:  # noqa: BLE001 - the user's function
            context.quarantine(events, i, error)
    return ids


class _Pages(MutableMapping[bytes, bytes]):
    """A filter's pages in a store: read on first use, written once per batch."""

    def __init__(self, state: StateView) -> None:
        self._state = state
        self._read: dict[bytes, bytes | None] = {}
        self._changed: set[bytes] = set()

    def __getitem__(self, key: bytes) -> bytes:
        if key not in self._read:
            (self._read[key],) = self._state.get_many([key])
        page = self._read[key]
        if page is None:
            raise KeyError(key)
        return page

    def __setitem__(self, key: bytes, page: bytes) -> None:
        self._read[key] = page
        self._changed.add(key)

    def __delitem__(self, key: bytes) -> None:
        self._read[key] = None
        self._changed.add(key)

    def __iter__(self) -> Iterator[bytes]:
        return iter([key for key, _ in self._state.scan(None, None)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def write(self, at_ms: int) -> None:
        """Put the changed pages into the store."""
        for key in sorted(self._changed):
            self._state.put(key, self._read[key], at_ms)
