"""A table as it was at a past moment: read once, held in memory, never changing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from lastword.codecs.base import key_bounds
from lastword.errors import ConfigError
from lastword.keyspace import Keyspace
from lastword.records import Position
from lastword.replicas.sweep.soundness import EXACT
from lastword.rows import HAS_EXPIRY, NEVER_DUE_MS, is_due
from lastword.snapshots.travel.time_travel import Past
from lastword.stores.memory import MemoryStore
from lastword.table.decoder import Decoder
from lastword.table.entry import Entry, RawEntry, raw_entry
from lastword.table.scan import Scan, Shape

T = TypeVar("T")


class PastTable:
    """Reads of one past moment, as ``Table.as_of`` gives them. Safe to use from any thread.

    It reflects ``position``, which may name only some partitions, as that of a version does;
    reading a key of another partition raises ConfigError. Rows that were due at ``at_ms`` are not
    part of it; a moment without a time has all rows that the log held.
    """

    def __init__(
        self, past: Past, decoder: Decoder, keyspace: Keyspace, *, at_ms: int | None
    ) -> None:
        self.position: Position = past.position
        self._at_ms = NEVER_DUE_MS if at_ms is None else at_ms
        self._stores = {p: _filled(_living(rows, self._at_ms)) for p, rows in past.rows.items()}
        self._decoder = decoder
        self._keyspace = keyspace

    @property
    def size_bytes(self) -> int:
        """The memory it takes, approximately."""
        return sum(store.size_bytes() for store in self._stores.values())

    def entry(self, key: Any) -> Entry | None:
        """The value with its version, timestamp and headers, or None."""
        raw = self._decoder.key.encode(key)
        partition, row = self._row(raw)
        return None if row is None else self._decoder.entry(partition, raw, row)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value that ``key`` had, or ``default``."""
        entry = self.entry(key)
        return default if entry is None else entry.value

    def __getitem__(self, key: Any) -> Any:
        entry = self.entry(key)
        if entry is None:
            raise KeyError(key)
        return entry.value

    def __contains__(self, key: Any) -> bool:
        return self.entry(key) is not None

    def __len__(self) -> int:
        return sum(store.count() for store in self._stores.values())

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Every key and value in key order."""
        return ((entry.key, entry.value) for entry in self.scan())

    def scan(
        self, start: Any = None, end: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Scan[Entry]:
        """Entries in key order: ``start <= key < end``, or those that begin with ``prefix``."""
        bounds = key_bounds(self._decoder.key, start, end, prefix)
        return self._scan(bounds, self._decoder.entry, reverse=reverse)

    def raw_entry(self, key: bytes) -> RawEntry | None:
        """The entry in bytes, or None."""
        partition, row = self._row(key)
        return None if row is None else raw_entry(partition, key, row)

    def raw_scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> Scan[RawEntry]:
        """Entries with ``start <= key < end`` in the order of their bytes."""
        return self._scan((start, end), raw_entry, reverse=reverse)

    def _scan(
        self,
        bounds: tuple[bytes | None, bytes | None],
        shape: Shape[T],
        *,
        reverse: bool,
    ) -> Scan[T]:
        scans = {p: store.scan(*bounds, reverse=reverse) for p, store in self._stores.items()}
        return Scan(
            scans,
            shape,
            reverse=reverse,
            position=self.position,
            freshness=EXACT,
            now_ms=self._at_ms,
        )

    def _row(self, key: bytes) -> tuple[int, bytes | None]:
        partition = self._keyspace.partition_of(key)
        if partition not in self._stores:
            raise ConfigError(
                f"the key is in partition {partition}, which {self.position} does not name",
                hint="give a position of all partitions, or a time",
            )
        return partition, self._stores[partition].get(key)


def _living(rows: Mapping[bytes, bytes], at_ms: int) -> Mapping[bytes, bytes]:
    if not any(row[0] & HAS_EXPIRY for row in rows.values()):
        return rows
    return {key: row for key, row in rows.items() if not is_due(row, at_ms)}


def _filled(rows: Mapping[bytes, bytes]) -> MemoryStore:
    store = MemoryStore()
    store.open()
    store.apply(rows, (), b"past")
    return store
