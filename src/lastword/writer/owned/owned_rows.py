"""The rows that an owner reads: the local copy, and acknowledged rows that it lacks so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from lastword.rows import offset_of


class LocalRows(Protocol):
    """The local copy of one partition, which a follower keeps up to date. Safe from any thread."""

    def row(self, key: bytes) -> bytes | None:
        """The key's row."""

    def rows(self) -> Iterable[tuple[bytes, bytes]]:
        """All rows."""

    def position(self) -> int:
        """The offset after the last record that the rows reflect."""

    def wait_for(self, offset: int, timeout_s: float) -> None:
        """Wait until the position is ``offset`` or more; raises NotUpToPositionError."""


class OwnedRows:
    """The rows of a partition as of the last acknowledged batch.

    The local copy follows the log with a small delay. Acknowledged rows are kept here until the
    local copy has applied them. One thread adds and prunes; any thread reads.
    """

    def __init__(self, local: LocalRows) -> None:
        self._local = local
        self._ahead: dict[bytes, tuple[int, bytes | None]] = {}

    def row(self, key: bytes) -> bytes | None:
        """The key's row.

        Reads the rows kept here first: one is removed only after the local copy has it.
        """
        ahead = self._ahead.get(key)
        row = self._local.row(key)
        if ahead is None or (row is not None and offset_of(row) > ahead[0]):
            return row
        return ahead[1]

    def add(self, rows: Mapping[bytes, tuple[int, bytes | None]]) -> None:
        """Add acknowledged rows with their offsets."""
        self._ahead.update(rows)

    def prune(self) -> None:
        """Drop the rows that the local copy has applied."""
        if self._ahead:
            position = self._local.position()
            passed = [key for key, (offset, _) in self._ahead.items() if offset < position]
            for key in passed:
                del self._ahead[key]

    def __len__(self) -> int:
        return len(self._ahead)
