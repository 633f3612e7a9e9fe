"""An operator's view of its store during one batch: the rows, overlaid with its own writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from lastword.records import NO_HEADERS, Headers
from lastword.rows import decode_row, encode_row, plain_rows, value_and_time_of, value_of
from lastword.stores.base import Store

Update = tuple[bytes, bytes | None, int, Headers]
"""Key, new value or None for a tombstone, timestamp, headers: a record to write.

A plain tuple, because there is one for every key of a batch.
"""


Kept = tuple[bytes | None, int]
"""A value with its timestamp; NOT_KEPT for a key without a row."""

NOT_KEPT: Kept = (None, -1)


class StateView:
    """Reads through to the store; writes stay here until the batch is committed.

    With ``every_update`` each write reaches the changelog; otherwise only the last one per key and
    batch, like the record cache of Kafka Streams. The final values are the same.
    """

    def __init__(self, store: Store, *, every_update: bool) -> None:
        self._store = store
        self._every_update = every_update
        self._is_new = store.checkpoint() is None
        self._changed: dict[bytes, Update] = {}
        self._unsorted: _Puts | None = None
        self._reads: list[tuple[Sequence[bytes], Sequence[bytes | None]]] = []
        self._known: dict[bytes, bytes | None] = {}
        self._log: list[Update] = []

    @property
    def _dirty(self) -> dict[bytes, Update]:
        """The last update of each key."""
        if self._unsorted is not None:
            puts, self._unsorted = self._unsorted, None
            self._changed.update(zip(puts.keys, puts.updates(), strict=True))
        return self._changed

    @property
    def _before(self) -> dict[bytes, bytes | None]:
        """The rows that were looked up, None for keys without one."""
        for keys, rows in self._reads:
            self._known.update(zip(keys, rows, strict=True))
        self._reads = []
        return self._known

    def stored_rows(
        self, keys: Sequence[bytes], absent: NDArray[np.bool_] | None = None
    ) -> Sequence[bytes | None]:
        """The rows in the store, without this batch's writes.

        Keys that are marked as ``absent`` are known to have no row and are not looked up.
        """
        if self._is_new or (absent is not None and absent.all()):  # most lookups of a first run
            rows: list[bytes | None] = [None] * len(keys)
        elif absent is None or not absent.any():
            rows = self._store.get_many(keys)
        else:
            rows = [None] * len(keys)
            wanted = np.flatnonzero(~absent).tolist()
            found = self._store.get_many([keys[i] for i in wanted])
            for i, row in zip(wanted, found, strict=True):
                rows[i] = row
        self._reads.append((keys, rows))
        return rows

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The current values, in the order of ``keys``."""
        dirty, rows = self._dirty, self.stored_rows(keys)
        if not dirty:
            return [None if row is None else value_of(row) for row in rows]
        return [
            dirty[key][1] if key in dirty else (None if row is None else value_of(row))
            for key, row in zip(keys, rows, strict=True)
        ]

    def get_with_times(
        self, keys: Sequence[bytes], absent: NDArray[np.bool_] | None = None
    ) -> list[Kept]:
        """The current values with their timestamps; ``absent`` as for ``stored_rows``."""
        dirty, rows = self._dirty, self.stored_rows(keys, absent)
        if not dirty:
            return [NOT_KEPT if row is None else value_and_time_of(row) for row in rows]
        return [
            dirty[key][1:3]
            if key in dirty
            else (NOT_KEPT if row is None else value_and_time_of(row))
            for key, row in zip(keys, rows, strict=True)
        ]

    @property
    def is_changed(self) -> bool:
        """Whether the batch has written anything."""
        return bool(self._changed) or self._unsorted is not None

    def _look_up_changed(self) -> None:
        """Look up the previous rows of keys that were put without reading them."""
        if unread := self._dirty.keys() - self._before.keys():
            self.stored_rows(list(unread))

    def rows_added(self) -> int:
        """By how many rows the store grows when the batch is committed."""
        puts = self._unsorted
        if puts is not None and self._reads and self._reads[-1][0] is puts.keys:
            # What was read is what was put, which is true of almost all folds.
            return self._reads[-1][1].count(None) - puts.values.count(None)
        self._look_up_changed()
        absent = list(map(self._before.get, self._dirty)).count(None)
        return absent - sum(update[1] is None for update in self._dirty.values())

    def put(
        self,
        key: bytes,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers = NO_HEADERS,
    ) -> None:
        """Set a key's value; None deletes it."""
        update = (key, value, timestamp_ms, headers)
        self._dirty[key] = update
        if self._every_update:
            self._log.append(update)

    def put_many(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int] | NDArray[np.int64],
    ) -> None:
        """Set or delete the values of distinct keys; the columns are kept, not copied."""
        puts = _Puts(keys, values, timestamps)
        if self._every_update:
            self._log += puts.updates()
        elif not self.is_changed:
            self._unsorted = puts
            return
        self._dirty.update(zip(keys, puts.updates(), strict=True))

    def scan(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of a range, with this batch's writes, in no particular order."""
        scan = self._store.scan(start, end)
        try:
            for key, row in scan:
                if key not in self._dirty:
                    yield key, decode_row(row).value
        finally:
            scan.close()
        for key, update in list(self._dirty.items()):
            inside = (start is None or key >= start) and (end is None or key < end)
            if inside and update[1] is not None:
                yield key, update[1]

    def headers_of(self, key: bytes) -> Headers | None:
        """The headers that a key's value was put with; None for a key that has no value."""
        if key in self._dirty:
            _, value, _, headers = self._dirty[key]
            return None if value is None else headers
        (row,) = self.stored_rows([key])
        return None if row is None else decode_row(row).headers

    def scan_headers(self) -> Iterator[tuple[bytes, Headers]]:
        """Every key that has a value with the headers it was put with, in no particular order."""
        scan = self._store.scan()
        try:
            for key, row in scan:
                if key not in self._dirty:
                    yield key, decode_row(row).headers
        finally:
            scan.close()
        for key, (_, value, _, headers) in list(self._dirty.items()):
            if value is not None:
                yield key, headers

    def in_write_order(self) -> list[tuple[bytes, Kept]]:
        """All rows of the store, sorted by their last write."""
        rows = [(key, decode_row(row)) for key, row in self._store.scan()]
        rows.sort(key=lambda each: each[1].offset)
        return [(key, (row.value, row.timestamp_ms)) for key, row in rows]

    def created_and_deleted(self) -> list[tuple[bytes, bool, int]]:
        """The keys that this batch created or deleted: key, whether it exists now, timestamp."""
        self._look_up_changed()
        before = self._before.get
        return [
            (key, value is not None, timestamp_ms)
            for key, (_, value, timestamp_ms, _) in self._dirty.items()
            if (value is None) != (before(key) is None)
        ]

    def updates(self) -> list[Update]:
        """The records for the changelog, in order."""
        if self._every_update:
            return self._log
        puts = self._unsorted
        return list(self._dirty.values()) if puts is None else puts.updates()

    def commit(self, checkpoint: bytes, end_offset: int = 0) -> None:
        """Write the batch into the store with its checkpoint, in one atomic step.

        ``end_offset`` is the changelog's end after the updates. Each row keeps the offset of its
        own record, as if it had been restored.
        """
        rows, deletes = self._rows_and_deletes(end_offset)
        self._store.apply(rows, deletes, checkpoint)
        self._changed, self._unsorted, self._log, self._is_new = {}, None, [], False

    def _rows_and_deletes(self, end_offset: int) -> tuple[dict[bytes, bytes], Collection[bytes]]:
        puts = self._unsorted
        if puts is not None and None not in puts.values:
            return puts.rows(max(0, end_offset - len(puts.keys))), ()
        updates = self.updates()
        rows = _rows_of(updates, max(0, end_offset - len(updates)))
        deletes = [key for key, update in self._dirty.items() if update[1] is None]
        for key in deletes:
            rows.pop(key, None)  # put and then deleted in the same batch
        return rows, deletes


@dataclass(frozen=True, slots=True)
class _Puts:
    """The columns of one ``put_many``: sorting them by key would cost more than the fold."""

    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps: Sequence[int] | NDArray[np.int64]

    def updates(self) -> list[Update]:
        at_ms = self.timestamps
        times = at_ms.tolist() if isinstance(at_ms, np.ndarray) else at_ms
        return list(zip(self.keys, self.values, times, repeat(NO_HEADERS)))

    def rows(self, first_offset: int) -> dict[bytes, bytes]:
        """The row of each key; no value may be None."""
        offsets = np.arange(first_offset, first_offset + len(self.keys), dtype=np.int64)
        timestamps = np.asarray(self.timestamps, np.int64)
        rows = plain_rows(offsets, timestamps, self.values)  # type: ignore[arg-type]
        return dict(zip(self.keys, rows, strict=True))


def _rows_of(updates: Sequence[Update], first_offset: int) -> dict[bytes, bytes]:
    """The last row of each key that was put; the offsets are those of the updates."""
    values = [value for _, value, _, _ in updates]
    if None in values or any(headers for _, _, _, headers in updates):
        return {
            key: encode_row(offset, timestamp_ms, headers, value)
            for offset, (key, value, timestamp_ms, headers) in enumerate(updates, first_offset)
            if value is not None
        }
    keys, _, timestamps, _ = zip(*updates, strict=True) if updates else ((), (), (), ())
    return _Puts(keys, values, timestamps).rows(first_offset)
