"""Counts, reductions and aggregations, per key or per key and window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lastword.codecs.base import Codec, KeyCodec
from lastword.codecs.resolve import CodecSpec, codec, key_codec
from lastword.errors import DecodeError
from lastword.pipelines.events import Events
from lastword.pipelines.folds import Fold
from lastword.pipelines.grouping import Groups, by_key, by_window
from lastword.pipelines.operator import Operator, Turn
from lastword.pipelines.state_view import StateView
from lastword.pipelines.windows import TimeWindows


class FoldOperator(Operator):
    """Keeps one value per key, or per key and window, in its store.

    A record on which the user's function fails is quarantined; the others of its key go on.
    """

    def __init__(
        self,
        fold: Fold,
        *,
        key: CodecSpec,
        value: CodecSpec,
        windows: TimeWindows | None = None,
        every_update: bool = False,
    ) -> None:
        self._fold = fold
        self._windows = windows
        self._every_update = every_update
        self._values: Codec[Any] = codec(value)
        self._keys: KeyCodec[Any] = key_codec(key)
        self._suffix = 0 if windows is None else windows.suffix_bytes

    def process(self, events: Events, states: Sequence[StateView], turn: Turn) -> Events:
        """Fold each group into its row."""
        (state,) = states
        before_ms = turn.stream_time_ms
        groups = self._group(events, turn)
        keys = self._decode_keys(groups, events, turn)
        olds = self._olds(groups.rows, state, before_ms)
        folding = _Folding(self._fold, self._values, events, state, turn)
        folding.run(groups, keys, olds, every_update=self._every_update)
        return Events.none()

    def _group(self, events: Events, turn: Turn) -> Groups:
        if self._windows is None:
            return by_key(events, turn, takes_nulls=self._fold.takes_nulls)
        return by_window(events, turn, self._windows)

    def _olds(self, rows: list[bytes], state: StateView, before_ms: int) -> Sequence[bytes | None]:
        """The values so far. A window that starts after all that was seen is not looked up."""
        if self._windows is None or before_ms < 0:
            return state.get_many(rows)
        starts_ms = self._windows.start_ms
        seen = [row for row in rows if starts_ms(row) <= before_ms]
        known = dict(zip(seen, state.get_many(seen), strict=True))
        return [known.get(row) for row in rows]

    def _decode_keys(self, groups: Groups, events: Events, turn: Turn) -> list[Any]:
        """The user's keys; _UNREADABLE for those whose records are quarantined."""
        decode, end = self._keys.decode, -self._suffix or None
        keys: list[Any] = []
        for group, row in enumerate(groups.rows):
            try:
                keys.append(decode(row[:end]))
            except DecodeError as error:
                keys.append(_UNREADABLE)
                for i in groups.indexes(group):
                    turn.quarantine(events, i, error)
        return keys


_UNREADABLE = object()


@dataclass(slots=True)
class _Folding:
    """The fold of one batch."""

    fold: Fold
    values: Codec[Any]
    events: Events
    state: StateView
    turn: Turn

    def run(
        self,
        groups: Groups,
        keys: Sequence[Any],
        olds: Sequence[bytes | None],
        *,
        every_update: bool,
    ) -> None:
        """Every group at once where that can be; where the user's function fails, one by one."""
        apply, encode = self.fold.apply, self.values.encode
        values = [self.events.values[i] for i in groups.order]
        for group, (row, key, old) in enumerate(zip(groups.rows, keys, olds, strict=True)):
            if key is _UNREADABLE:
                continue
            if every_update:
                self._one_by_one(row, key, old, groups.indexes(group))
                continue
            before = self._decoded(old)
            try:
                after = apply(key, before, values[groups.starts[group] : groups.starts[group + 1]])
                encoded = None if after is None else encode(after)
            except Exception:  # noqa: BLE001 - the user's function: one by one shows which record
                self._one_by_one(row, key, old, groups.indexes(group))
                continue
            if encoded is not None or old is not None:
                self._put(row, encoded, groups.latest_ms[group])

    def _one_by_one(self, row: bytes, key: Any, old: bytes | None, indexes: list[int]) -> None:
        """Fold record by record; one that fails is quarantined and changes nothing."""
        latest_ms = -1
        for i in indexes:
            latest_ms = max(latest_ms, self.events.timestamps[i])
            # Decoded anew each time: a function that failed may have changed its argument.
            before = self._decoded(old)
            try:
                after = self.fold.step(key, before, self.events.values[i])
                encoded = None if after is None else self.values.encode(after)
            except Exception as error:  # noqa: BLE001 - the user's function
                self.turn.quarantine(self.events, i, error)
                continue
            if encoded is not None or old is not None:
                self._put(row, encoded, latest_ms)
            old = encoded

    def _decoded(self, old: bytes | None) -> Any:
        return None if old is None else self.values.decode(old)

    def _put(self, row: bytes, value: bytes | None, at_ms: int) -> None:
        self.state.put(row, value, at_ms)
        self.turn.tally.updates += 1
