"""The Store protocol: what a table needs of the store of one partition.

A store speaks bytes only. It knows neither Kafka nor codecs. One thread applies; any thread
reads. Write your own by implementing ``Store`` and running
``lastword.testing.store_contract.StoreContract`` against it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lastword.errors import StoreError

StoredRow = tuple[bytes, bytes]


@dataclass(frozen=True)
class Capabilities:
    """What a store can do; the table asks this and never the store's type.

    persistent          rows and checkpoint survive ``close`` and a killed process capacity the most
    rows it keeps, or None; ``evict`` drops the rest restore_batch_bytes how much to gather while
    restoring before one ``apply``: a store that loads large sorted batches faster asks for more
    than 0
    """

    persistent: bool = False
    capacity: int | None = None
    restore_batch_bytes: int = 0


class StoreScan(Protocol):
    """Rows in key order as of the moment the scan was made; closed by exhaustion or ``close``.

    For one thread at a time. Closing the store ends it: the next row is then a StoreError.
    """

    def __iter__(self) -> Iterator[StoredRow]: ...

    def __next__(self) -> StoredRow: ...

    def close(self) -> None:
        """Free what the scan holds; a second call does nothing."""


@runtime_checkable
class Store(Protocol):
    """One partition of a table. Keys are never empty; rows are opaque bytes.

    Before ``open`` and after ``close`` every read and write raises StoreError.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do; constant, and known before ``open``."""

    def open(self) -> None:
        """Make it usable; raises StoreCorruptedError when its files cannot be read.

        A closed store can be opened again: a persistent one with its rows, others empty.
        """

    def close(self) -> None:
        """Free everything; idempotent. Persistent stores keep rows and checkpoint."""

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of ``keys``, as of one moment between two applies."""

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> StoreScan:
        """Rows with ``start <= key < end`` in key order, or in reverse of it.

        None means unbounded. The scan sees the state of the moment it was made; later changes do
        not affect it.
        """

    def count(self) -> int:
        """The exact number of rows."""

    def checkpoint(self) -> bytes | None:
        """The checkpoint of the last apply, or None when nothing was applied since ``clear``."""

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        """Write rows, remove keys and set the checkpoint in one atomic step.

        After a crash either all of it is there or none. ``puts`` and ``deletes`` share no key;
        deleting an absent key is not an error, an empty key is (StoreError, nothing applied).
        """

    def evict(self) -> list[bytes]:
        """Drop the rows beyond the capacity, oldest use first, and return their keys.

        The checkpoint stays: an evicted key is gone for good only once its tombstone is in the
        topic. Called by the thread that applies; ``apply`` itself never evicts.
        """

    def clear(self) -> None:
        """Forget every row and the checkpoint, in one atomic step."""

    def size_bytes(self) -> int:
        """Bytes held, on disk for persistent stores and in memory for others (estimated)."""

    def stats(self) -> Mapping[str, int]:
        """Gauges for metrics, by name; may be empty."""


def not_open() -> StoreError:
    """The error of a store that is used before ``open`` or after ``close``."""
    return StoreError("the store is not open", hint="open it first; a closed table stays closed")


def refuse_empty_keys(puts: Mapping[bytes, bytes], deletes: Collection[bytes]) -> None:
    """Raise StoreError when a batch holds the empty key, which no table has."""
    if b"" in puts or b"" in deletes:
        raise StoreError(
            "a batch holds an empty key",
            hint="records without a key are counted by the reader and never applied",
        )
