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
        groups = self._group(events, turn)
        folding = _Folding(self._fold, self._values, events, state, turn)
        rows = list(groups)
        for row, old in zip(rows, state.get_many(rows), strict=True):
            try:
                key = self._keys.decode(row[: -self._suffix] if self._suffix else row)
            except DecodeError as error:
                for i in groups[row]:
                    turn.quarantine(events, i, error)
                continue
            if self._every_update or not folding.at_once(row, key, old, groups[row]):
                folding.one_by_one(row, key, old, groups[row])
        return Events.none()

    def _group(self, events: Events, turn: Turn) -> Groups:
        if self._windows is None:
            return by_key(events, turn, takes_nulls=self._fold.takes_nulls)
        return by_window(events, turn, self._windows)


@dataclass(slots=True)
class _Folding:
    """The fold of one batch."""

    fold: Fold
    values: Codec[Any]
    events: Events
    state: StateView
    turn: Turn

    def at_once(self, row: bytes, key: Any, old: bytes | None, indexes: list[int]) -> bool:
        """Fold a whole group; False when the user's function failed somewhere in it."""
        values, timestamps = self.events.values, self.events.timestamps
        before = self._decoded(old)
        try:
            after = self.fold.apply(key, before, [values[i] for i in indexes])
            encoded = None if after is None else self.values.encode(after)
        except Exception:  # noqa: BLE001 - the user's function: one by one shows which record
            return False
        if encoded is not None or old is not None:
            self._put(row, encoded, max(map(timestamps.__getitem__, indexes)))
        return True

    def one_by_one(self, row: bytes, key: Any, old: bytes | None, indexes: list[int]) -> None:
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
