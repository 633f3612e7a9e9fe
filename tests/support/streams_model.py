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
            if not event.key:
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

    def process(self, events: Iterable[Event]) -> None:
        for event in events:
            if not event.key:
                self.keyless += 1
                continue
            self.stream_time_ms = max(self.stream_time_ms, event.timestamp_ms)
            for start_ms in self._starts(event.timestamp_ms):
                if start_ms + self.size_ms <= self.stream_time_ms - self.grace_ms:
                    self.late += 1
                else:
                    self._update(event.key + start_ms.to_bytes(8, "big"), event.value)
        self._expire()

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
