"""Kafka Streams' semantics as a plain Python model: one record at a time, nothing clever.

Written from the rules, not from the code under test: windows are found by trying every start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Event(NamedTuple):
    """A record of the source partition."""

    key: bytes | None
    value: Any
    timestamp_ms: int


@dataclass
class StreamsModel:
    """One partition of a count, reduce or aggregate. ``step(old, value)`` gives None to forget."""

    step: Callable[[Any, Any], Any]
    takes_nulls: bool = False
    table: dict[bytes, Any] = field(default_factory=dict)
    keyless: int = 0
    null_values: int = 0

    def process(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.key is None:
                self.keyless += 1
            elif event.value is None and not self.takes_nulls:
                self.null_values += 1
            else:
                self._update(event.key, event.value)

    def _update(self, row: bytes, value: Any) -> None:
        after = self.step(self.table.get(row), value)
        if after is None:
            self.table.pop(row, None)
        else:
            self.table[row] = after


@dataclass
class WindowedModel(StreamsModel):
    """The same per window; rows are named as Kafka's TimeWindowedSerializer names them.

    Stream time moves with every record that has a key. A window is closed when its end lies
    grace or more behind it. Expired windows leave by quarters of the retention.
    """

    size_ms: int = 60_000
    advance_ms: int = 60_000
    grace_ms: int = 0
    retention_ms: int = 86_400_000
    stream_time_ms: int = -1
    late: int = 0
    final: dict[bytes, Any] = field(default_factory=dict)

    def process(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.key is None:
                self.keyless += 1
                continue
            self.stream_time_ms = max(self.stream_time_ms, event.timestamp_ms)
            self._close()
            for start_ms in self._starts(event.timestamp_ms):
                if start_ms + self.size_ms <= self.stream_time_ms - self.grace_ms:
                    self.late += 1
                else:
                    self._update(event.key + start_ms.to_bytes(8, "big"), event.value)
        self._expire()

    def _close(self) -> None:
        """Windows that take no more records, each with the value it had then."""
        for row, value in self.table.items():
            end_ms = int.from_bytes(row[-8:], "big") + self.size_ms
            if end_ms <= self.stream_time_ms - self.grace_ms:
                self.final.setdefault(row, value)

    def _starts(self, timestamp_ms: int) -> list[int]:
        every = range(0, timestamp_ms + 1, self.advance_ms)
        return [start for start in every if start <= timestamp_ms < start + self.size_ms]

    def _expire(self) -> None:
        quarter_ms = self.retention_ms // 4
        reached_ms = self.stream_time_ms // quarter_ms * quarter_ms
        for row in list(self.table):
            end_ms = int.from_bytes(row[-8:], "big") + self.size_ms
            if end_ms <= reached_ms - self.retention_ms:
                del self.table[row]


class Span(NamedTuple):
    """A session of a key, by the times of its first and last record."""

    key: bytes
    start_ms: int
    end_ms: int

    @property
    def row(self) -> bytes:
        """As Kafka's SessionWindowedSerializer names it."""
        return self.key + self.end_ms.to_bytes(8, "big") + self.start_ms.to_bytes(8, "big")


@dataclass
class SessionModel:
    """KStreamSessionWindowAggregate: sessions within the gap of a record become one.

    ``merge`` makes one value of several sessions' values, which come by their ends. With
    ``suppressed``, a closed session is final and out of reach.
    """

    step: Callable[[Any, Any], Any]
    merge: Callable[[list[Any]], Any]
    gap_ms: int
    grace_ms: int
    retention_ms: int
    suppressed: bool = False
    sessions: dict[Span, Any] = field(default_factory=dict)
    final: dict[bytes, Any] = field(default_factory=dict)
    stream_time_ms: int = -1
    late: int = 0
    keyless: int = 0

    def process(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.key is None:
                self.keyless += 1
                continue
            self._add(event.key, event.value, event.timestamp_ms)
            self.stream_time_ms = max(self.stream_time_ms, event.timestamp_ms)
            self._close()
        quarter_ms = self.retention_ms // 4
        kept_from_ms = self.stream_time_ms // quarter_ms * quarter_ms - self.retention_ms
        self.sessions = {s: v for s, v in self.sessions.items() if s.end_ms >= kept_from_ms}

    @property
    def table(self) -> dict[bytes, Any]:
        return {span.row: value for span, value in self.sessions.items()}

    def _add(self, key: bytes, value: Any, at_ms: int) -> None:
        near = [
            span
            for span in self.sessions
            if span.key == key
            and span.end_ms >= at_ms - self.gap_ms
            and span.start_ms <= at_ms + self.gap_ms
            and self._in_reach(span)
        ]
        near.sort(key=lambda span: span.end_ms)
        start_ms = min(at_ms, *(span.start_ms for span in near), at_ms)
        end_ms = max(at_ms, *(span.end_ms for span in near), at_ms)
        whole = Span(key, start_ms, end_ms)
        told = self.suppressed and whole.row in self.final and whole not in near
        if told or end_ms < self.stream_time_ms - self.gap_ms - self.grace_ms:
            self.late += 1
            return
        old = self.merge([self.sessions.pop(span) for span in near])
        after = self.step(old, value)
        self.sessions.pop(whole, None)
        if after is not None:
            self.sessions[whole] = after

    def _in_reach(self, span: Span) -> bool:
        if self.suppressed:
            return not self._is_closed(span)
        return span.end_ms > self.stream_time_ms - self.retention_ms

    def _is_closed(self, span: Span) -> bool:
        return span.end_ms <= self.stream_time_ms - self.gap_ms - self.grace_ms

    def _close(self) -> None:
        for span, value in self.sessions.items():
            if self._is_closed(span):
                self.final.setdefault(span.row, value)


@dataclass
class LruModel:
    """Stores.lruMap: a list of keys, the least recently used first."""

    step: Callable[[Any, Any], Any]
    capacity: int
    takes_nulls: bool = False
    table: dict[bytes, Any] = field(default_factory=dict)
    used: list[bytes] = field(default_factory=list)
    evicted: int = 0

    def process(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.key is not None and (event.value is not None or self.takes_nulls):
                self._update(event.key, event.value)

    def _update(self, key: bytes, value: Any) -> None:
        after = self.step(self.table.pop(key, None), value)
        if key in self.used:
            self.used.remove(key)
        if after is None:
            return
        self.table[key] = after
        self.used.append(key)
        if len(self.used) > self.capacity:
            del self.table[self.used.pop(0)]
            self.evicted += 1
