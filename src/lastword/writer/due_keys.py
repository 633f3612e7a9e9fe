"""The keys of a partition that are due, for the owner that writes their tombstones.

Local reads hide a due row by themselves. For the row to be gone from the log and from every copy,
the partition's owner has to delete it. The delete is conditional on the version that expired, so a
newer value stays.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from lastword.rows import HAS_EXPIRY, expires_at_of, offset_of

# Entries of overwritten keys stay in the heap until they come up, unless there are too many.
_SPARE = 1_000


class DueKey(NamedTuple):
    """A key whose row at ``offset`` has expired."""

    expires_at_ms: int
    key: bytes
    offset: int


class DueKeys:
    """The rows of one partition that expire, by their time. One thread uses it.

    It is filled with the rows of the partition at take-over, and then with each row that is applied
    or acknowledged, in offset order. It holds one entry per key that expires: about 200 bytes each.
    """

    def __init__(self) -> None:
        self._expiring: dict[bytes, DueKey] = {}
        self._heap: list[DueKey] = []

    def __len__(self) -> int:
        return len(self._expiring)

    @property
    def next_at_ms(self) -> int | None:
        """When the next key is due; None while no key expires."""
        self._drop_outdated()
        return self._heap[0].expires_at_ms if self._heap else None

    def fill(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Start again with the rows of a scan over the partition's store."""
        self._expiring = {
            key: DueKey(expires_at_of(row) or 0, key, offset_of(row))
            for key, row in rows
            if row[0] & HAS_EXPIRY
        }
        self._heap = list(self._expiring.values())
        heapq.heapify(self._heap)

    def note(self, key: bytes, offset: int, expires_at_ms: int | None) -> None:
        """The key was written at ``offset``; None for a row that does not expire, or a delete."""
        known = self._expiring.get(key)
        if known is not None and known.offset > offset:
            return  # a late entry for a row that was overwritten since
        if expires_at_ms is None:
            self._expiring.pop(key, None)
            return
        entry = DueKey(expires_at_ms, key, offset)
        self._expiring[key] = entry
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._expiring) + _SPARE:
            self._heap = list(self._expiring.values())
            heapq.heapify(self._heap)

    def take(self, now_ms: int, limit: int) -> list[DueKey]:
        """Remove and return the due keys, oldest expiry first; at most ``limit``.

        A key that could not be deleted is given back with ``note``.
        """
        due: list[DueKey] = []
        while len(due) < limit and (at := self.next_at_ms) is not None and at <= now_ms:
            entry = heapq.heappop(self._heap)
            del self._expiring[entry.key]
            due.append(entry)
        return due

    def _drop_outdated(self) -> None:
        while self._heap and self._expiring.get(self._heap[0].key) != self._heap[0]:
            heapq.heappop(self._heap)
