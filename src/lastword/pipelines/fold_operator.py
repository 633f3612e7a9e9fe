"""Counts, reductions and aggregations, per key or per key and window."""

from __future__ import annotations

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

_WINDOW_BYTES = 8


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
        retention_ms: int = 0,
        every_update: bool = False,
    ) -> None:
        self._fold = fold
        self._windows = windows
        self._retention_ms = retention_ms
        self._every_update = every_update
        self._values: Codec[Any] = codec(value)
        self._keys: KeyCodec[Any] = key_codec(key)
        self._suffix = 0 if windows is None else _WINDOW_BYTES

    def process(self, events: Events, state: StateView, turn: Turn) -> None:
        """Fold each group into its row, then drop the windows that are past their retention."""
        before_ms = turn.stream_time_ms
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
        if self._windows is not None:
            self._expire(self._windows, before_ms, state, turn)

    def _group(self, events: Events, turn: Turn) -> Groups:
        if self._windows is None:
            return by_key(events, turn, takes_nulls=self._fold.takes_nulls)
        return by_window(events, turn, self._windows)

    def _expire(self, windows: TimeWindows, before_ms: int, state: StateView, turn: Turn) -> None:
        """Forget old windows, a quarter of the retention at a time: each pass reads the store.

        What is left depends on the last quarter that stream time entered and on nothing else,
        so that it is the same however the records were cut into batches.
        """
        quarter_ms = max(self._retention_ms // 4, 1)
        quarter = turn.stream_time_ms // quarter_ms
        if quarter == before_ms // quarter_ms:
            return
        oldest_start_ms = quarter * quarter_ms - self._retention_ms - windows.size_ms
        expired = [
            row
            for row, _ in state.scan(None, None)
            if int.from_bytes(row[-_WINDOW_BYTES:], "big") <= oldest_start_ms
        ]
        for row in expired:
            state.put(row, None, turn.stream_time_ms)
            turn.tally.updates += 1


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
            self._put(row, encoded, max(timestamps[i] for i in indexes))
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
