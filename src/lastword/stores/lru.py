"""Rows in memory; the least recently used are evicted beyond a fixed number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from lastword.errors import ConfigError
from lastword.stores.base import Capabilities, refuse_empty_keys
from lastword.stores.memory import MemoryStore


class LRUStore(MemoryStore):
    """A memory store with a capacity; writing and getting a key is using it, scanning is not.

    The capacity is that of one partition. ``apply`` accepts every row, so a restore may exceed it;
    only ``evict`` drops rows. Its caller deletes the keys from the topic, or they would come back.

    >>> store = LRUStore(2)
    >>> store.open()
    >>> store.apply({b"a": b"1", b"b": b"2", b"c": b"3"}, (), b"checkpoint")
    >>> store.get(b"a")
    b'1'
    >>> store.evict()
    [b'b']
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ConfigError(
                f"an LRU store cannot hold {capacity} rows", hint="give it a capacity above 0"
            )
        super().__init__()
        self._capabilities = Capabilities(capacity=capacity)
        self._capacity = capacity
        self._recency: OrderedDict[bytes, bytes] = OrderedDict()  # the rows, oldest use first

    @property
    def capabilities(self) -> Capabilities:
        """Not persistent, with a capacity."""
        return self._capabilities

    def get(self, key: bytes) -> bytes | None:
        """The row, or None; makes the key the most recently used."""
        with self._lock:  # unlike its base class: a read changes the order of the rows
            row = super().get(key)
            self._use(key)
            return row

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``; each counts as used."""
        with self._lock:
            rows = super().get_many(keys)
            for key in keys:
                self._use(key)
            return rows

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        """Write rows, most recently used in the order of ``puts``; nothing is evicted."""
        refuse_empty_keys(puts, deletes)
        with self._lock:
            super().apply(puts, deletes, checkpoint)
            for key in puts:
                self._use(key)

    def evict(self) -> list[bytes]:
        """Drop the rows beyond the capacity, oldest use first, and return their keys."""
        with self._lock:
            evicted = list(islice(self._opened(), max(0, self.count() - self._capacity)))
            self._change({}, evicted)
            return evicted

    def _empty_rows(self) -> dict[bytes, bytes]:
        self._recency = OrderedDict()
        return self._recency

    def _use(self, key: bytes) -> None:
        with suppress(KeyError):  # a key without a row
            self._recency.move_to_end(key)
