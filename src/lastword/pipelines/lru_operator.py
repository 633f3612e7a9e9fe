"""A fold over a fixed number of keys: the least recently used one makes room for a new one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from lastword.codecs.base import Codec, KeyCodec
from lastword.codecs.resolve import CodecSpec, codec, key_codec
from lastword.pipelines.events import Events
from lastword.pipelines.folds import Fold
from lastword.pipelines.grouping import by_key
from lastword.pipelines.operator import Operator, Turn
from lastword.pipelines.state_view import StateView


class LruOperator(Operator):
    """Keeps ``capacity`` keys of a partition; one that is given up gets a tombstone.

    To use a key is to write it, record by record, so that the order of use is the order of the
    changelog, and a restored store gives up the same keys. All rows are read in every batch:
    this is for as many keys as fit into memory easily.
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
        self._values: Codec[Any] = codec(value)
        self._keys: KeyCodec[Any] = key_codec(key)

    def process(self, events: Events, states: Sequence[StateView], turn: Turn) -> Events:
        """Fold record by record, giving up a key for each one too many."""
        (state,) = states
        rows = OrderedDict(state.in_write_order())
        before = set(rows)
        used_at_ms: dict[bytes, int] = {}
        groups = by_key(events, turn, takes_nulls=self._fold.takes_nulls)
        for i in sorted(groups.order):
            key = events.keys[i] or b""
            try:
                value = self._folded(key, rows.get(key), events.values[i])
            except Exception as error:  # noqa: BLE001 - the user's function
                turn.quarantine(events, i, error)
                continue
            used_at_ms[key] = max(events.timestamps[i], used_at_ms.get(key, -1))
            changed = self._use(rows, key, value, turn)
            if self._every_update:
                self._write(state, [(each, rows.get(each)) for each in changed], used_at_ms, turn)
        if not self._every_update:
            gone = [(key, None) for key in before - rows.keys()]
            used = [(key, value) for key, value in rows.items() if key in used_at_ms]
            self._write(state, [*sorted(gone), *used], used_at_ms, turn)
        return Events.none()

    def _folded(self, key: bytes, old: bytes | None, value: Any) -> bytes | None:
        before = None if old is None else self._values.decode(old)
        after = self._fold.step(self._keys.decode(key), before, value)
        return None if after is None else self._values.encode(after)

    def _use(
        self, rows: OrderedDict[bytes, bytes], key: bytes, value: bytes | None, turn: Turn
    ) -> list[bytes]:
        """Set the key's value; returns the keys that changed."""
        if value is None:
            return [] if rows.pop(key, None) is None else [key]
        rows[key] = value
        rows.move_to_end(key)
        if len(rows) <= self._capacity:
            return [key]
        evicted, _ = rows.popitem(last=False)
        turn.tally.evicted += 1
        return [key, evicted]

    def _write(
        self,
        state: StateView,
        updates: Sequence[tuple[bytes, bytes | None]],
        used_at_ms: dict[bytes, int],
        turn: Turn,
    ) -> None:
        for key, value in updates:
            state.put(key, value, used_at_ms.get(key, turn.stream_time_ms))
            turn.tally.updates += 1
