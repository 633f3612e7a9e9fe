"""A fold over a fixed number of keys, with LRU eviction."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from lastword.codecs.base import KeyCodec
from lastword.codecs.resolve import CodecSpec, key_codec
from lastword.pipelines.api.folds import Fold
from lastword.pipelines.api.null_values import Values
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.grouping import by_key
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import NOT_KEPT, Kept, StateView


class LruOperator(Operator):
    """Keeps ``capacity`` keys of a partition; an evicted key gets a tombstone.

    Every use of a key writes it, so the order of use is the order of the changelog, and a restored
    store evicts the same keys. Each batch reads all rows: use it for numbers of keys that fit
    easily into memory.
    """

    def __init__(
        self,
        fold: Fold,
        *,
        key: CodecSpec,
        value: CodecSpec,
        capacity: int,
        every_update: bool = False,
    ) -> None:
        self._fold = fold
        self._capacity = capacity
        self._every_update = every_update
        self._values = Values(value)
        self._keys: KeyCodec[Any] = key_codec(key)

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Fold record by record, and evict a key whenever there is one too many."""
        (state,) = states
        rows = OrderedDict(state.in_write_order())
        before = set(rows)
        changed_at_ms: dict[bytes, int] = {}
        groups = by_key(events, context, takes_nulls=self._fold.takes_nulls)
        for i in sorted(groups.order):
            key, at_ms = events.keys[i] or b"", events.timestamps[i]
            old, old_ms = rows.get(key, NOT_KEPT)
            try:
                value = self._folded(key, old, events.values[i])
            except Exception as error:  # noqa: BLE001 - the user's function
                context.quarantine(events, i, error)
                continue
            changed = self._use(rows, key, (value, max(at_ms, old_ms)), context)
            changed_at_ms |= {each: rows.get(each, (None, at_ms))[1] for each in changed}
            if self._every_update:
                self._write(state, changed, rows, changed_at_ms, context)
        if not self._every_update:
            gone = sorted(before - rows.keys())
            used = [key for key in rows if key in changed_at_ms]
            self._write(state, [*gone, *used], rows, changed_at_ms, context)
        return Events.none()

    def _folded(self, key: bytes, old: bytes | None, value: Any) -> bytes | None:
        before = None if old is None else self._values.decode(old)
        after = self._fold.step(self._keys.decode(key), before, value)
        return None if after is None else self._values.encode(after)

    def _use(
        self, rows: OrderedDict[bytes, Kept], key: bytes, new: Kept, context: BatchContext
    ) -> list[bytes]:
        """Set the key's value; returns the keys that changed."""
        if new[0] is None:
            return [] if rows.pop(key, None) is None else [key]
        rows[key] = new
        rows.move_to_end(key)
        if len(rows) <= self._capacity:
            return [key]
        evicted, _ = rows.popitem(last=False)
        context.tally.evicted += 1
        return [key, evicted]

    def _write(
        self,
        state: StateView,
        keys: Sequence[bytes],
        rows: Mapping[bytes, Kept],
        changed_at_ms: Mapping[bytes, int],
        context: BatchContext,
    ) -> None:
        for key in keys:
            value, _ = rows.get(key, NOT_KEPT)
            state.put(key, value, changed_at_ms[key])
            context.tally.updates += 1
