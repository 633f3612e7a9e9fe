"""Session windows: a key's records with at most a gap between neighbors.

The rules are those of Kafka Streams, record by record. A record joins every session within the
gap, and these merge: the old rows are deleted, and a new one spans them all. A record is late if
the session it would be in ended more than gap and grace ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from lastword.codecs.base import KeyCodec
from lastword.codecs.resolve import CodecSpec, key_codec
from lastword.errors import DecodeError
from lastword.pipelines.api.folds import Fold
from lastword.pipelines.api.null_values import Values
from lastword.pipelines.api.windows import SessionWindows
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.grouping import by_key_in_stream_time
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView


class SessionRow(NamedTuple):
    """One row: the times of its first and last record, and the folded value."""

    start_ms: int
    end_ms: int
    value: bytes


class SessionOperator(Operator):
    """Keeps a row per key and session, open ones included.

    A session that ended ``reach_ms`` ago is no longer joined: Kafka Streams does not see sessions
    past its retention, which is gap and grace by default. A record that is not late then starts a
    new session, and replaces the old one if both have the same times. With ``emits_final`` such a
    record is late instead, because the old session was already emitted as final.
    """

    def __init__(
        self,
        fold: Fold,
        *,
        key: CodecSpec,
        value: CodecSpec,
        windows: SessionWindows,
        reach_ms: int,
        emits_final: bool = False,
        every_update: bool = False,
    ) -> None:
        self._fold = fold
        self._windows = windows
        self._reach_ms = reach_ms
        self._emits_final = emits_final
        self._every_update = every_update
        self._values = Values(value)
        self._keys: KeyCodec[Any] = key_codec(key)

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Update the sessions of each key."""
        (state,) = states
        groups, stream_times = by_key_in_stream_time(events, context)
        # Load all before the first write: a range read of the view ignores its own writes.
        found = {
            key: self._load(key, [events.timestamps[i] for i in indexes], state, context)
            for key, indexes in groups.items()
        }
        for raw_key, indexes in groups.items():
            try:
                key = self._keys.decode(raw_key)
            except DecodeError as error:
                for i in indexes:
                    context.quarantine(events, i, error)
                continue
            of_key = _SessionsOfKey(self, raw_key, key, found[raw_key], state, context)
            for i in indexes:
                of_key.add(events, i, stream_times[i])
            of_key.write()
        return Events.none()

    def _load(
        self, key: bytes, timestamps: Sequence[int], state: StateView, context: BatchContext
    ) -> list[SessionRow]:
        """The sessions of a key that its records can join, sorted by their ends."""
        start = key + max(min(timestamps) - self._windows.gap_ms, 0).to_bytes(8, "big")
        end = key + (context.stream_time_ms + 1).to_bytes(8, "big")
        length = len(key) + self._windows.suffix_bytes
        return [
            SessionRow(int.from_bytes(row[-8:], "big"), int.from_bytes(row[-16:-8], "big"), value)
            for row, value in state.scan(start, end)
            if len(row) == length  # longer keys may lie in between
        ]

    def touched(
        self, sessions: list[SessionRow], at_ms: int, stream_time_ms: int
    ) -> list[SessionRow]:
        """The sessions that a record of this time joins; stream time is that before the record."""
        gap_ms = self._windows.gap_ms
        found = [
            session
            for session in sessions
            if session.end_ms >= at_ms - gap_ms
            and session.end_ms > stream_time_ms - self._reach_ms
            and session.start_ms <= at_ms + gap_ms
        ]
        return found if len(found) < 2 else sorted(found, key=attrgetter("end_ms"))

    def is_late(self, end_ms: int, stream_time_ms: int, known: Sequence[SessionRow]) -> bool:
        """Whether a record is too late for the session it would be in.

        ``known`` are the sessions with the same times that it does not join. Stream time is that
        before the record: a record that advances it is never late.
        """
        if known and self._emits_final:
            return True
        return end_ms < stream_time_ms - self._windows.open_ms

    def fold(self, key: Any, joined: list[SessionRow], value: Any) -> bytes | None:
        """The value of several sessions merged with one more record."""
        values = [self._values.decode(each.value) for each in joined]
        after = self._fold.join(key, values, value)
        return None if after is None else self._values.encode(after)

    @property
    def every_update(self) -> bool:
        """Whether to write each update instead of one per session and batch."""
        return self._every_update


@dataclass(slots=True)
class _SessionsOfKey:
    """The sessions of one key during one batch."""

    operator: SessionOperator
    raw_key: bytes
    key: Any
    sessions: list[SessionRow]
    state: StateView
    context: BatchContext
    before: tuple[SessionRow, ...] = ()

    def __post_init__(self) -> None:
        self.before = tuple(self.sessions)

    def add(self, events: Events, i: int, stream_time_ms: int) -> None:
        """Add one record. If the user's function fails, nothing changes."""
        at_ms = events.timestamps[i]
        joined = self.operator.touched(self.sessions, at_ms, stream_time_ms)
        start_ms = end_ms = at_ms
        for each in joined:
            start_ms, end_ms = min(start_ms, each.start_ms), max(end_ms, each.end_ms)
        known = self._others_at(start_ms, end_ms, joined)
        if self.operator.is_late(end_ms, stream_time_ms, known):
            self.context.tally.late += 1
            return
        try:
            value = self.operator.fold(self.key, joined, events.values[i])
        except Exception as error:  # noqa: BLE001 - the user's functions
            self.context.quarantine(events, i, error)
            return
        after = [] if value is None else [SessionRow(start_ms, end_ms, value)]
        replaced = joined + known
        if self.operator.every_update:
            self._replace(replaced, after)
        if replaced:
            after = [each for each in self.sessions if each not in replaced] + after
        else:
            after = self.sessions + after
        self.sessions = after

    def _others_at(self, start_ms: int, end_ms: int, joined: list[SessionRow]) -> list[SessionRow]:
        """Sessions with exactly these times that a record does not join; rarely any."""
        if len(joined) == len(self.sessions):
            return []
        return [
            each
            for each in self.sessions
            if each.end_ms == end_ms and each.start_ms == start_ms and each not in joined
        ]

    def write(self) -> None:
        """Write the final state of the key's sessions in this batch, unless all updates were."""
        if not self.operator.every_update:
            self._replace(
                [each for each in self.before if each not in self.sessions],
                [each for each in self.sessions if each not in self.before],
            )

    def _replace(self, old: Sequence[SessionRow], new: Sequence[SessionRow]) -> None:
        latest_ms = max((each.end_ms for each in (*old, *new)), default=0)
        rows = {self._row(each) for each in new}
        for each in old:
            if self._row(each) not in rows:
                self._put(self._row(each), None, latest_ms)
        for each in new:
            self._put(self._row(each), each.value, each.end_ms)

    def _row(self, each: SessionRow) -> bytes:
        """The row's key, in the format of Kafka's SessionWindowedSerializer."""
        return self.raw_key + each.end_ms.to_bytes(8, "big") + each.start_ms.to_bytes(8, "big")

    def _put(self, row: bytes, value: bytes | None, at_ms: int) -> None:
        self.state.put(row, value, at_ms)
        self.context.tally.updates += 1
