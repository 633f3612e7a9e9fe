"""Rows and the pasts of their keys: two key spaces in one store of any kind."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from threading import RLock
from typing import NamedTuple

from lastword.stores.base import Capabilities, Store, StoredRow, StoreScan, refuse_empty_keys

_ROW, _PAST, _END = b"r", b"v", b"w"
_HEAD = struct.Struct(">4sq")
_MARK = b"lwv1"


class PastChanges(NamedTuple):
    """Changes of the pasts of keys; ``added`` is how many more pasts there are afterwards."""

    puts: Mapping[bytes, bytes]
    deletes: Collection[bytes]
    added: int


NO_CHANGES = PastChanges({}, (), 0)


class VersionedStore:
    """A ``Store`` of rows over another one, which also holds the past of a key, as bytes.

    Both change in one atomic step, with the checkpoint, because they are rows of the one store
    below: ``r`` and the key is a row, ``v`` and the key a past. The number of pasts is stored
    before the checkpoint, so that only rows are counted.

    >>> from lastword.stores.memory import MemoryStore
    >>> store = VersionedStore(MemoryStore())
    >>> store.open()
    >>> store.apply_with_past({b"a": b"2"}, (), PastChanges({b"a": b"was 1"}, (), 1), b"")
    >>> list(store.scan()), store.versions([b"a"]), store.count()
    ([(b'a', b'2')], [(b'2', b'was 1')], 1)
    """

    def __init__(self, below: Store) -> None:
        self._below = below
        self._pasts = 0
        self._changing = RLock()

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store below."""
        return self._below.capabilities

    @property
    def pasts(self) -> int:
        """How many keys have a past."""
        return self._pasts

    def open(self) -> None:
        """Open the store below and see how many pasts it has."""
        with self._changing:
            self._below.open()
            _, self._pasts = _taken_apart(self._below.checkpoint())

    def close(self) -> None:
        """Close the store below."""
        self._below.close()

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""
        return self._below.get(_ROW + key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``, as of one moment."""
        return self._below.get_many([_ROW + key for key in keys])

    def versions(self, keys: Sequence[bytes]) -> list[tuple[bytes | None, bytes | None]]:
        """Row and past of each key, all as of one moment."""
        both = [space + key for key in keys for space in (_ROW, _PAST)]
        found = iter(self._below.get_many(both))
        return list(zip(found, found, strict=True))

    def keys_with_past(self, start: bytes, limit: int) -> list[bytes]:
        """The next keys from ``start`` on that have a past, in order."""
        scan = self._below.scan(_PAST + start, _END)
        try:
            return [key[1:] for key, _ in islice(scan, limit)]
        finally:
            scan.close()

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> StoreScan:
        """Rows with ``start <= key < end``, as of this moment."""
        last = _PAST if end is None else _ROW + end
        return _RowScan(self._below.scan(_ROW + (start or b""), last, reverse=reverse))

    def count(self) -> int:
        """The exact number of rows."""
        self._below.count()  # the first count takes long: not while changes have to wait
        with self._changing:
            return self._below.count() - self._pasts

    def checkpoint(self) -> bytes | None:
        """The checkpoint of the last apply."""
        return _taken_apart(self._below.checkpoint())[0]

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        """Write rows, remove keys and set the checkpoint; pasts stay as they are."""
        self.apply_with_past(puts, deletes, NO_CHANGES, checkpoint)

    def apply_with_past(
        self,
        puts: Mapping[bytes, bytes],
        deletes: Collection[bytes],
        past: PastChanges,
        checkpoint: bytes,
    ) -> None:
        """The same, with changes of pasts in the same atomic step."""
        refuse_empty_keys(puts, deletes)
        written = {_ROW + key: row for key, row in puts.items()}
        written.update({_PAST + key: value for key, value in past.puts.items()})
        removed = [_ROW + key for key in deletes]
        removed.extend(_PAST + key for key in past.deletes)
        with self._changing:
            pasts = self._pasts + past.added
            self._below.apply(written, removed, _HEAD.pack(_MARK, pasts) + checkpoint)
            self._pasts = pasts

    def evict(self) -> list[bytes]:
        """Nothing: a store that evicts cannot keep versions."""
        return []

    def clear(self) -> None:
        """Forget every row, every past and the checkpoint."""
        with self._changing:
            self._below.clear()
            self._pasts = 0

    def size_bytes(self) -> int:
        """Bytes of rows and pasts together."""
        return self._below.size_bytes()

    def stats(self) -> Mapping[str, int]:
        """Those of the store below."""
        return self._below.stats()


def keeps_versions(store: Store) -> bool:
    """Whether an open store was last written by a ``VersionedStore``."""
    return (store.checkpoint() or b"").startswith(_MARK)


def _taken_apart(stored: bytes | None) -> tuple[bytes | None, int]:
    """Checkpoint and number of pasts; a checkpoint without that number is ignored."""
    if stored is None:
        return None, 0
    if not stored.startswith(_MARK):
        return b"", 0
    return stored[_HEAD.size :], _HEAD.unpack_from(stored)[1]


class _RowScan:
    """The scan below, its keys as the table has them."""

    __slots__ = ("_below", "_rows")

    def __init__(self, below: StoreScan) -> None:
        self._below = below
        self._rows = ((key[1:], row) for key, row in below)

    def __iter__(self) -> Iterator[StoredRow]:
        return self._rows

    def __next__(self) -> StoredRow:
        return next(self._rows)

    def close(self) -> None:
        """Free what the scan holds; a second call does nothing."""
        self._below.close()
