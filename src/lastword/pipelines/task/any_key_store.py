"""A store that also accepts the empty key.

Tables refuse empty keys, and stores keep their checkpoint under the empty key. In Kafka Streams an
empty key is a key like any other, so pipelines accept it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lastword.stores.base import Capabilities, Store, StoredRow, StoreScan

# Prefixed to the empty key, and to keys that already begin with it, so that keys stay distinct. No
# time begins with this bit, so rows of windows are never affected.
_MARK = bytes.fromhex("f75c09d1ae4b43e0")


_FIRST = _MARK[0]


def _inside(key: bytes) -> bytes:
    return key if key and not key.startswith(_MARK) else _MARK + key


def _may_change(keys: Iterable[bytes]) -> bool:
    """Whether one of the keys may need the prefix; a quick check, rarely true."""
    return bool([key for key in keys if not key or key[0] == _FIRST])


def _outside(key: bytes) -> bytes:
    return key.removeprefix(_MARK)


class AnyKeyStore:
    """Accepts all keys, and stores them in ``store`` with a prefix where needed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store."""
        return self._store.capabilities

    def open(self) -> None:
        """Make it usable."""
        self._store.open()

    def close(self) -> None:
        """Free everything; idempotent."""
        self._store.close()

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""
        return self._store.get(_inside(key))

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``."""
        return self._store.get_many([_inside(key) for key in keys] if _may_change(keys) else keys)

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> StoreScan:
        """Rows with ``start <= key < end``, in the order of their stored keys."""
        first, last = (None if key is None else _inside(key) for key in (start, end))
        return _AnyKeyScan(self._store.scan(first, last, reverse=reverse))

    def count(self) -> int:
        """The exact number of rows."""
        return self._store.count()

    def checkpoint(self) -> bytes | None:
        """The checkpoint of the last apply."""
        return self._store.checkpoint()

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        """Write rows, remove keys and set the checkpoint in one atomic step."""
        if _may_change(puts) or _may_change(deletes):
            puts = {_inside(key): row for key, row in puts.items()}
            deletes = [_inside(key) for key in deletes]
        self._store.apply(puts, deletes, checkpoint)

    def evict(self) -> list[bytes]:
        """The keys of the rows that were dropped."""
        return [_outside(key) for key in self._store.evict()]

    def clear(self) -> None:
        """Delete every row and the checkpoint."""
        self._store.clear()

    def size_bytes(self) -> int:
        """Bytes held."""
        return self._store.size_bytes()

    def stats(self) -> Mapping[str, int]:
        """Gauges for metrics."""
        return self._store.stats()


class _AnyKeyScan:
    def __init__(self, scan: StoreScan) -> None:
        self._scan = scan

    def __iter__(self) -> Iterator[StoredRow]:
        return self

    def __next__(self) -> StoredRow:
        key, row = next(self._scan)
        return _outside(key), row

    def close(self) -> None:
        self._scan.close()
