"""Scans that take their rows chunk by chunk, so that a store can end them at any time.

A chunk is a plain list, so a row costs no call into the store, and a store that closes needs to
find only the cursors. The pieces point one way, scan to cursor, so that a scan nobody holds any
more is freed at once and not by the cyclic garbage collector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain

from lastword.errors import StoreError
from lastword.stores.base import StoredRow

_FIRST_CHUNK_ROWS = 16  # a lookup by prefix needs few rows, quickly
_CHUNK_ROWS_MAX = 1024
_CHUNK_BYTES_MAX = 1 << 20


class StoreCursor(ABC):
    """The position of a scan in its store; fetches the next rows and frees its resources.

    ``lock`` is reentrant because fetching may set off the garbage collector, which may close
    another scan of the same store in the same thread.
    """

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._limit = _FIRST_CHUNK_ROWS
        self._chunk: list[StoredRow] = []
        self._failure: StoreError | None = None
        self.live = True

    @abstractmethod
    def _fetch(self, limit: int) -> list[StoredRow]:
        """The next rows; fewer than ``limit`` only at the end. Called with the lock held."""

    @abstractmethod
    def _release(self) -> None:
        """Free what the cursor holds. Called once, with the lock held."""

    def chunks(self) -> Iterator[list[StoredRow]]:
        """The rows, in lists that ``close`` and ``fail`` may empty under the reader."""
        while (chunk := self._next_chunk()) is not None:
            yield chunk

    def _next_chunk(self) -> list[StoredRow] | None:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if not self.live:
                return None
            try:
                chunk = self._chunk = self._fetch(self._limit)
            except StoreError:
                self._stop()
                raise
            if len(chunk) < self._limit:
                self._stop()
            else:
                rows_max = _CHUNK_BYTES_MAX // (len(chunk[-1][1]) + 1)
                self._limit = max(1, min(self._limit * 4, _CHUNK_ROWS_MAX, rows_max))
            return chunk

    def close(self) -> None:
        """End the scan for its reader: no more rows."""
        with self._lock:
            self._chunk.clear()
            self._stop()

    def fail(self, failure: StoreError) -> None:
        """End the scan for the store: the reader's next row is ``failure``."""
        with self._lock:
            if self.live or self._chunk:
                self._failure = failure
            self.close()

    def _stop(self) -> None:
        if self.live:
            self.live = False
            self._release()


class ChunkedScan:
    """A ``Scan`` over a cursor."""

    __slots__ = ("_cursor", "_rows")

    def __init__(self, cursor: StoreCursor) -> None:
        self._cursor = cursor
        self._rows = chain.from_iterable(cursor.chunks())

    def __iter__(self) -> Iterator[StoredRow]:
        return self._rows

    def __next__(self) -> StoredRow:
        return next(self._rows)

    def close(self) -> None:
        """Free what the scan holds; a second call does nothing."""
        self._cursor.close()
