"""The keys of a dict in order, sorted on demand."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping

# Up to this many changes are worked into a copy one by one; beyond it, sorting is cheaper.
_SINGLE_CHANGES_MAX = 64


class SortedKeys:
    """Keys of ``rows`` in order, as lists that are never changed once handed out.

    Nothing is tracked until the first ``current``, so a restore runs at the speed of the dict.
    Afterwards only new and deleted keys are remembered; an old order plus a sorted run of new keys
    is what Python's sort merges in linear time. Not thread-safe.
    """

    def __init__(self, rows: Mapping[bytes, bytes]) -> None:
        self._rows = rows
        self._order: list[bytes] | None = None
        self._added: set[bytes] = set()
        self._removed: set[bytes] = set()

    def changing(self, puts: Mapping[bytes, bytes], deletes: Collection[bytes]) -> None:
        """Record a change that is about to be made to the rows."""
        if self._order is None:
            return
        # Not `puts.keys() - rows.keys()`, which walks through all the rows.
        appearing = {key for key in puts if key not in self._rows}
        self._added |= appearing - self._removed
        self._removed -= appearing
        vanishing = {key for key in deletes if key in self._rows}
        self._removed |= vanishing - self._added
        self._added -= vanishing

    def current(self) -> list[bytes]:
        """The keys at this moment; later changes do not affect the list."""
        if self._order is None:
            self._order = sorted(self._rows)
        elif self._added or self._removed:
            changes = len(self._added) + len(self._removed)
            self._order = self._patched() if changes <= _SINGLE_CHANGES_MAX else self._merged()
            self._added.clear()
            self._removed.clear()
        return self._order

    def _patched(self) -> list[bytes]:
        order = list(self._order or ())
        for key in self._removed:
            del order[bisect_left(order, key)]
        for key in self._added:
            insort(order, key)
        return order

    def _merged(self) -> list[bytes]:
        order = [key for key in self._order or () if key not in self._removed]
        order.extend(sorted(self._added))
        order.sort()
        return order
