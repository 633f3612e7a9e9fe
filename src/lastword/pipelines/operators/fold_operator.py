"""Counts, reductions and aggregations, per key or per key and window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastword.codecs.base import KeyCodec
from lastword.codecs.plain import Int64Codec
from lastword.codecs.resolve import CodecSpec, codec, key_codec
from lastword.errors import DecodeError
from lastword.pipelines.api.folds import BEFORE, Fold, Folded
from lastword.pipelines.api.null_values import Values
from lastword.pipelines.api.windows import TimeWindows
from lastword.pipelines.operators.counting import add_counts
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.grouping import RecordGroups, by_key, by_window
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import Kept, StateView


class FoldOperator(Operator):
    """Keeps one value per key, or per key and window, in its store.

    A record for which the user's function fails is quarantined; the key's other records continue.
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
        self._values = Values(value)
        # Counts as Kafka Streams writes them are added up without a Python object for each.
        is_number = isinstance(codec(value), Int64Codec)
        self._counts = is_number and not fold.reads_values and not every_update
        self._keys: KeyCodec[Any] = key_codec(key)
        self._suffix = 0 if windows is None else windows.suffix_bytes

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Fold each group into its row."""
        (state,) = states
        before_ms = context.stream_time_ms
        groups = self._group(events, context)
        keys = self._decode_keys(groups, events, context)
        absent = self._absent(groups, before_ms)
        if self._counts and _UNREADABLE not in keys and add_counts(groups, state, absent):
            context.tally.updates += len(groups.rows)
            return Events.none()
        olds = state.get_with_times(groups.rows, absent)
        folding = _Folding(self._fold, self._values, events, state, context)
        folding.run(groups, keys, olds, every_update=self._every_update)
        return Events.none()

    def _group(self, events: Events, context: BatchContext) -> RecordGroups:
        if self._windows is None:
            return by_key(events, context, takes_nulls=self._fold.takes_nulls)
        return by_window(events, context, self._windows)

    def _absent(self, groups: RecordGroups, before_ms: int) -> NDArray[np.bool_] | None:
        """Which groups have no row yet: a window that starts after stream time is new."""
        return None if groups.windows_ms is None else groups.windows_ms > before_ms

    def _decode_keys(
        self, groups: RecordGroups, events: Events, context: BatchContext
    ) -> list[Any]:
        """The decoded keys; _UNREADABLE for those whose records are quarantined."""
        decode, end = self._keys.decode, -self._suffix or None
        try:
            return [decode(row[:end]) for row in groups.rows]
        except DecodeError:
            return [
                self._decode_key(row[:end], groups.indexes(group), events, context)
                for group, row in enumerate(groups.rows)
            ]

    def _decode_key(
        self, key: bytes, indexes: list[int], events: Events, context: BatchContext
    ) -> Any:
        try:
            return self._keys.decode(key)
        except DecodeError as error:
            for i in indexes:
                context.quarantine(events, i, error)
            return _UNREADABLE


_UNREADABLE = object()


@dataclass(slots=True)
class _Folding:
    """The fold of one batch.

    A row has the largest timestamp of its records since the key was last deleted, as in Kafka
    Streams. A tombstone has the timestamp of the record that caused it. So timestamps do not
    depend on how the records were split into batches.
    """

    fold: Fold
    values: Values
    events: Events
    state: StateView
    context: BatchContext

    def run(
        self, groups: RecordGroups, keys: list[Any], olds: list[Kept], *, every_update: bool
    ) -> None:
        """Fold all groups at once if possible; after a failure, record by record."""
        given = None if every_update else self._inputs(groups)
        news = None if given is None else self._fold_all(keys, olds, given)
        if news is not None:
            self._put_all(groups, olds, news)
            return
        for group, (row, key, old) in enumerate(zip(groups.rows, keys, olds, strict=True)):
            if key is _UNREADABLE:
                continue
            new = None if given is None else self._fold_all([key], [old], [given[group]])
            if new is not None:
                self._put(row, old, new[0][0], self._time(groups, group, old, new[0]))
            else:
                self._one_by_one(row, key, old, groups.indexes(group))

    def _inputs(self, groups: RecordGroups) -> Sequence[Sequence[Any]] | None:
        """What the fold takes of the values of each group; None if an object of the user fails."""
        if not self.fold.reads_values:
            return groups.sizes()
        try:
            return groups.split(self.fold.inputs(self.events.values))
        except Exception:  # noqa: BLE001 - the user's class: one by one shows which record
            return None

    def _fold_all(
        self, keys: list[Any], olds: list[Kept], given: Sequence[Sequence[Any]]
    ) -> list[Folded] | None:
        """The new value of each group; None if the user's function fails, or a key is invalid."""
        apply = self.fold.apply
        if _UNREADABLE in keys:
            return None
        befores = self.values.decode_batch([old for old, _ in olds])
        try:
            if self.fold.keeps_first:
                given = self._with_own_first(befores, given)
            afters = [apply(*each) for each in zip(keys, befores, given, strict=True)]
            encoded = self.values.encode_batch([value for value, _ in afters])
            return list(zip(encoded, [since for _, since in afters], strict=True))
        except Exception:  # noqa: BLE001 - the user's function: one by one shows which record
            return None

    def _with_own_first(
        self, befores: list[Any], given: Sequence[Sequence[Any]]
    ) -> list[Sequence[Any]]:
        """The groups, new ones with a copy of their first value.

        The user's function may modify the state it gets, but must not modify a record: other nodes
        read it, and so does the retry after a failure.
        """
        own = list(given)
        for group, values in enumerate(given):
            if len(values) > 1 and befores[group] is None and values[0] is not None:
                first = self.values.decode(self.values.encode(values[0]))
                own[group] = [first, *values[1:]]
        return own

    def _one_by_one(self, row: bytes, key: Any, old: Kept, indexes: list[int]) -> None:
        """Fold record by record; one that fails is quarantined and changes nothing."""
        for i in indexes:
            # Decoded again each time: a function that failed may have modified its argument.
            before = None if old[0] is None else self.values.decode(old[0])
            try:
                after = self.fold.step(key, before, self.events.values[i])
                encoded = None if after is None else self.values.encode(after)
            except Exception as error:  # noqa: BLE001 - the user's function
                self.context.quarantine(self.events, i, error)
                continue
            at_ms = self.events.timestamps[i]
            if encoded is not None and before is not None:
                at_ms = max(at_ms, old[1])
            self._put(row, old, encoded, at_ms)
            old = (encoded, at_ms)

    def _time(self, groups: RecordGroups, group: int, old: Kept, new: Folded) -> int:
        value, since = new
        if since == BEFORE:
            return max(int(groups.latest_ms[group]), old[1])
        timestamps = [self.events.timestamps[i] for i in groups.indexes(group)[since:]]
        return timestamps[0] if value is None else max(timestamps)

    def _put(self, row: bytes, old: Kept, new: bytes | None, at_ms: int) -> None:
        """Put the value; a tombstone only if there is a row to delete."""
        if new is not None or old[0] is not None:
            self.state.put(row, new, at_ms)
            self.context.tally.updates += 1

    def _put_all(self, groups: RecordGroups, olds: list[Kept], news: list[Folded]) -> None:
        values = [value for value, _ in news]
        if None not in values and all(since <= 0 for _, since in news):
            # No key was deleted, which is true of almost all batches.
            times = [
                latest_ms if latest_ms > old_ms else old_ms
                for latest_ms, (_, old_ms) in zip(groups.latest_ms.tolist(), olds, strict=True)
            ]
            self.state.put_many(groups.rows, values, times)
            self.context.tally.updates += len(values)
            return
        for group, (row, old, new) in enumerate(zip(groups.rows, olds, news, strict=True)):
            self._put(row, old, new[0], self._time(groups, group, old, new))
