"""An exact number of rows that costs nothing before its first use."""

from __future__ import annotations

from itertools import islice

from rocksdict import Rdict

from lastword.stores.rocksdb_cursor import FIRST_KEY, check_end

_COUNTED_AT_ONCE = 4096


class RowCounter:
    """Rows counted once, on first use, and kept up to date by every later change.

    ``start`` and ``changed`` are called under the store's write lock, so that each change is either
    in the counted snapshot or counted separately, never both.
    """

    def __init__(self) -> None:
        self._counted: int | None = None
        self._changed = 0
        self.wants_changes = False

    @property
    def rows(self) -> int | None:
        """The number of rows, or None when they were not counted yet."""
        return None if self._counted is None else self._counted + self._changed

    def start(self, database: Rdict) -> RowCount:
        """Begin to count the current rows, and record every change from now on."""
        self._changed, self.wants_changes = 0, True
        return RowCount(database)

    def changed(self, rows: int) -> None:
        """Record that rows were added, or with a negative number removed."""
        self._changed += rows

    def finish(self, counted: int) -> int:
        """Record the result of the count; return the current number of rows."""
        self._counted = counted
        return counted + self._changed


class RowCount:
    """Counts the rows of the moment it was made, piece by piece."""

    def __init__(self, database: Rdict) -> None:
        self._database = database
        self._keys = database.keys(from_key=FIRST_KEY)
        self._last: bytes | None = None

    def next_piece(self) -> int:
        """How many rows the next piece has; 0 at the end."""
        keys = list(islice(self._keys, _COUNTED_AT_ONCE))
        if keys:
            self._last = keys[-1]
        else:
            check_end(self._database, None, FIRST_KEY, self._last, reverse=False)
        return len(keys)
