"""Rows in a dict: the fastest store, lost with the process."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from threading import RLock
from weakref import WeakSet

from lastword.stores.base import Capabilities, StoredRow, StoreScan, not_open, refuse_empty_keys
from lastword.stores.chunked_scan import ChunkedScan, StoreCursor
from lastword.stores.sorted_keys import SortedKeys

_CAPABILITIES = Capabilities()
_SAMPLED_ROWS = 1000


class MemoryStore:
    """A dict from key to row, with ordered scans.

    Rows stay bytes on purpose: millions of tuples would keep the cyclic garbage collector busy,
    which costs half of a restore. ``get`` takes no lock; everything that must see a whole batch
    or none of it does.

    >>> store = MemoryStore()
    >>> store.open()
    >>> store.apply({b"b": b"2", b"a": b"1"}, (), b"checkpoint")
    >>> list(store.scan())
    [(b'a', b'1'), (b'b', b'2')]
    """

    def __init__(self) -> None:
        self._lock = RLock()
        # None while closed, and replaced rather than emptied: a reader that holds the
        # dict never mistakes a closed or cleared store for one without the key.
        self._rows: dict[bytes, bytes] | None = None
        self._keys = SortedKeys({})
        self._checkpoint: bytes | None = None
        self._cursors: WeakSet[_MemoryCursor] = WeakSet()

    @property
    def capabilities(self) -> Capabilities:
        """Neither persistent nor limited."""
        return _CAPABILITIES

    def open(self) -> None:
        """Start empty; an open store is left as it is."""
        with self._lock:
            if self._rows is None:
                self._start_empty()

    def close(self) -> None:
        """Drop everything; idempotent."""
        with self._lock:
            self._rows = None
            self._keys = SortedKeys({})
            for cursor in list(self._cursors):
                cursor.fail(not_open())

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""
        rows = self._rows
        if rows is None:
            raise not_open()
        return rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``, as of one moment."""
        with self._lock:
            return list(map(self._opened().get, keys))

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> StoreScan:
        """Rows with ``start <= key < end``, as of this moment."""
        with self._lock:
            rows = self._opened()
            keys = self._keys.current()
            first = 0 if start is None else bisect_left(keys, start)
            last = len(keys) if end is None else bisect_left(keys, end)
            places = range(last - 1, first - 1, -1) if reverse else range(first, last)
            cursor = _MemoryCursor(self._lock, rows, keys, places)
            self._cursors.add(cursor)
            return ChunkedScan(cursor)

    def count(self) -> int:
        """The number of rows between two applies, never in the middle of one."""
        with self._lock:
            return len(self._opened())

    def checkpoint(self) -> bytes | None:
        """The checkpoint of the last apply."""
        with self._lock:
            self._opened()
            return self._checkpoint

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        """Write rows, remove keys and set the checkpoint in one step."""
        refuse_empty_keys(puts, deletes)
        with self._lock:
            self._change(puts, deletes)
            self._checkpoint = checkpoint

    def evict(self) -> list[bytes]:
        """Do nothing: there is no capacity."""
        return []

    def clear(self) -> None:
        """Forget every row and the checkpoint; open scans keep what they saw."""
        with self._lock:
            self._opened()
            self._start_empty()

    def size_bytes(self) -> int:
        """Estimated from the size of the dict and a sample of its rows."""
        with self._lock:
            rows = self._opened()
            sample = list(islice(rows.items(), _SAMPLED_ROWS))
            sampled_bytes = sum(sys.getsizeof(key) + sys.getsizeof(row) for key, row in sample)
            return sys.getsizeof(rows) + sampled_bytes * len(rows) // max(len(sample), 1)

    def stats(self) -> Mapping[str, int]:
        """Nothing beyond ``count`` and ``size_bytes``."""
        return {}

    def _opened(self) -> dict[bytes, bytes]:
        if self._rows is None:
            raise not_open()
        return self._rows

    def _empty_rows(self) -> dict[bytes, bytes]:
        return {}

    def _start_empty(self) -> None:
        self._rows = self._empty_rows()
        self._keys = SortedKeys(self._rows)
        self._checkpoint = None

    def _change(self, puts: Mapping[bytes, bytes], deletes: Collection[bytes]) -> None:
        """Change rows and everything derived from them; called with the lock held."""
        rows = self._opened()
        watching = [cursor for cursor in self._cursors if cursor.live and cursor.rows is rows]
        if watching:
            before = {key: rows[key] for keys in (puts, deletes) for key in keys if key in rows}
            for cursor in watching:
                cursor.keep(before)
        self._keys.changing(puts, deletes)
        rows.update(puts)
        for key in deletes:
            rows.pop(key, None)


class _MemoryCursor(StoreCursor):
    """A range of the sorted keys, and the rows that have changed since the scan was made."""

    def __init__(
        self, lock: RLock, rows: dict[bytes, bytes], keys: list[bytes], places: range
    ) -> None:
        super().__init__(lock)
        self.rows = rows
        self._keys = keys
        self._places = places
        self._before: dict[bytes, bytes] = {}

    def keep(self, before: dict[bytes, bytes]) -> None:
        """Keep the old version of rows that are about to change; the first one of a key counts."""
        remember = self._before.setdefault
        for key, row in before.items():
            remember(key, row)

    def _fetch(self, limit: int) -> list[StoredRow]:
        places, self._places = self._places[:limit], self._places[limit:]
        keys = [self._keys[place] for place in places]
        if not self._before:
            return list(zip(keys, map(self.rows.__getitem__, keys), strict=True))
        before, rows = self._before, self.rows
        return [(key, before[key] if key in before else rows[key]) for key in keys]

    def _release(self) -> None:
        self.rows, self._keys, self._before = {}, [], {}
