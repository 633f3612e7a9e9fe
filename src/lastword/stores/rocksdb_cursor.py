"""Reading a RocksDB database in key order.

Two things of rocksdict are worked around here. ``ReadOptions.set_iterate_lower_bound`` sets the
upper bound, so a reverse scan is stopped by hand. And an iterator that meets a damaged block
just ends, as if there were no more rows, so every end is checked a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

from rocksdict import Rdict, ReadOptions

from lastword.stores.base import StoredRow
from lastword.stores.chunked_scan import StoreCursor
from lastword.stores.rocksdb_errors import store_errors

CHECKPOINT_KEY = b""  # no row has it, and it sorts before all of them
FIRST_KEY = b"\x00"  # the smallest key a row can have


class RocksDBCursor(StoreCursor):
    """A native iterator over ``start <= key < end``; it sees the moment it was made."""

    def __init__(
        self,
        lock: AbstractContextManager[object],
        database: Rdict,
        path: Path,
        start: bytes | None,
        end: bytes | None,
        *,
        reverse: bool,
    ) -> None:
        super().__init__(lock)
        self._path = path
        self._reverse = reverse
        self._start = max(start or FIRST_KEY, FIRST_KEY)
        self._last: bytes | None = None
        self._options = ReadOptions()
        if end is not None:
            self._options.set_iterate_upper_bound(end)
        self._database: Rdict | None = database
        self._rows: Iterator[StoredRow] = iter(())
        # An empty upper bound would mean none at all.
        if end is None or end > self._start:
            origin = None if reverse else self._start
            self._rows = database.items(reverse, origin, self._options)

    def _fetch(self, limit: int) -> list[StoredRow]:
        with store_errors(self._path):
            rows = list(islice(self._rows, limit))
            if rows:
                self._last = rows[-1][0]
            if len(rows) < limit and self._database is not None:
                check_end(
                    self._database, self._options, self._start, self._last, reverse=self._reverse
                )
            if self._reverse:
                while rows and rows[-1][0] < self._start:
                    rows.pop()
            return rows

    def _release(self) -> None:
        # A live iterator keeps the files locked after the database is closed.
        self._rows, self._database = iter(()), None


def check_end(
    database: Rdict,
    options: ReadOptions | None,
    start: bytes,
    last: bytes | None,
    *,
    reverse: bool,
) -> None:
    """Raise when what follows ``last`` (None: nothing was read) is damage and not the end."""
    iterator = database.iter(options)
    if last is None:
        iterator.seek_to_last() if reverse else iterator.seek(start)
    elif reverse:
        iterator.seek_for_prev(last)
        if iterator.valid():
            iterator.prev()
    else:
        iterator.seek(last)
        if iterator.valid():
            iterator.next()
    iterator.status()
