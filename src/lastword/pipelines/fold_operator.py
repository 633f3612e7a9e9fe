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
        olds = self._olds(groups, state, before_ms)
        folding = _Folding(self._fold, self._values, events, state, turn)
        folding.run(groups, keys, olds, every_update=self._every_update)
        return Events.none()

    def _group(self, events: Events, turn: Turn) -> Groups:
        if self._windows is None:
            return by_key(events, turn, takes_nulls=self._fold.takes_nulls)
        return by_window(events, turn, self._windows)

    def _olds(self, groups: Groups, state: StateView, before_ms: int) -> list[bytes | None]:
        """The values so far. A window that starts after all that was seen is not looked up."""
        if self._windows is None:
            return state.get_many(groups.rows)
        windows = zip(groups.rows, groups.windows_ms, strict=True)
        seen = [row for row, start_ms in windows if start_ms <= before_ms]
        known = dict(zip(seen, state.get_many(seen), strict=True))
        return [known.get(row) for row in groups.rows] if known else [None] * len(groups.rows)

    def _decode_keys(self, groups: Groups, events: Events, turn: Turn) -> list[Any]:
        """The user's keys; _UNREADABLE for those whose records are quarantined."""
        decode, end = self._keys.decode, -self._suffix or None
        try:
            return [decode(row[:end]) for row in groups.rows]
        except DecodeError:
            return [
                self._decode_key(row[:end], groups.indexes(group), events, turn)
                for group, row in enumerate(groups.rows)
            ]

    def _decode_key(self, key: bytes, indexes: list[int], events: Events, turn: Turn) -> Any:
        try:
            return self._keys.decode(key)
        except DecodeError as error:
            for i in indexes:
                turn.quarantine(events, i, error)
            return _UNREADABLE


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
        keys: list[Any],
        olds: list[bytes | None],
        *,
        every_update: bool,
    ) -> None:
        """All groups at once where that can be; where it fails, each record by itself."""
        given = groups.split(self.events.values)
        news = None if every_update else self._fold_all(keys, olds, given)
        if news is not None:
            self._put_all(groups, olds, news)
            return
        for group, (row, key, old) in enumerate(zip(groups.rows, keys, olds, strict=True)):
            if key is _UNREADABLE:
                continue
            new = None if every_update else self._fold_all([key], [old], [given[group]])
            if new is not None:
                self._put(row, old, new[0], groups.latest_ms[group])
            else:
                self._one_by_one(row, key, old, groups.indexes(group))

    def _fold_all(
        self, keys: list[Any], olds: list[bytes | None], given: list[list[Any]]
    ) -> list[bytes | None] | None:
        """The new value of each group; None when the user's function, or a key, is no good."""
        apply, encode, decode = self.fold.apply, self.values.encode, self.values.decode
        if any(key is _UNREADABLE for key in keys):
            return None
        befores = [None if old is None else decode(old) for old in olds]
        try:
            if self.fold.keeps_first:
                given = self._part_from_first(befores, given)
            afters = [apply(*each) for each in zip(keys, befores, given, strict=True)]
            return [None if after is None else encode(after) for after in afters]
        except Exception:  # noqa: BLE001 - the user's function: one by one shows which record
            return None

    def _part_from_first(self, befores: list[Any], given: list[list[Any]]) -> list[list[Any]]:
        """Start new groups from a copy of their first value; returns what is left of the groups.

        The user's function may change the state it is given. A record it must not change: others
        look at it, too, and so do we when the function fails later on.
        """
        rest = list(given)
        for group, values in enumerate(given):
            if len(values) > 1 and befores[group] is None:
                befores[group] = self.values.decode(self.values.encode(values[0]))
                rest[group] = values[1:]
        return rest

    def _one_by_one(self, row: bytes, key: Any, old: bytes | None, indexes: list[int]) -> None:
        """Fold record by record; one that fails is quarantined and changes nothing."""
        latest_ms = -1
        for i in indexes:
            latest_ms = max(latest_ms, self.events.timestamps[i])
            # Decoded anew each time: a function that failed may have changed its argument.
            before = None if old is None else self.values.decode(old)
            try:
                after = self.fold.step(key, before, self.events.values[i])
                encoded = None if after is None else self.values.encode(after)
            except Exception as error:  # noqa: BLE001 - the user's function
                self.turn.quarantine(self.events, i, error)
                continue
            self._put(row, old, encoded, latest_ms)
            old = encoded

    def _put(self, row: bytes, old: bytes | None, new: bytes | None, at_ms: int) -> None:
        """A tombstone only where there is something to delete."""
        if new is not None or old is not None:
            self.state.put(row, new, at_ms)
            self.turn.tally.updates += 1

    def _put_all(self, groups: Groups, olds: list[bytes | None], news: list[bytes | None]) -> None:
        if None in news:
            for each in zip(groups.rows, olds, news, groups.latest_ms, strict=True):
                self._put(*each)
        else:
            self.state.put_many(groups.rows, news, groups.latest_ms)
            self.turn.tally.updates += len(news)
