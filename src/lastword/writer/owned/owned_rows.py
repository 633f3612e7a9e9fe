"""What an owner knows of its partition: the local copy, and what is acknowledged beyond it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from lastword.rows import offset_of


class LocalRows(Protocol):
    """The local copy of one partition, kept up to date by others. Safe to use from any thread."""

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

    The local copy follows the log a little later. Until it has passed them, acknowledged rows are
    kept here. One thread adds and prunes; any thread reads.
    """

    def __init__(self, local: LocalRows) -> None:
        self._local = local
        self._ahead: dict[bytes, tuple[int, bytes | None]] = {}

    def row(self, key: bytes) -> bytes | None:
        """The key's row.

        What is ahead is looked at first: a row leaves it only when the local copy has it.
        """
        ahead = self._ahead.get(key)
        row = self._local.row(key)
        if ahead is None or (row is not None and offset_of(row) > ahead[0]):
            return row
        return ahead[1]

    def add(self, rows: Mapping[bytes, tuple[int, bytes | None]]) -> None:
        """These rows, with their offsets, are acknowledged."""
        self._ahead.update(rows)

    def prune(self) -> None:
        """Forget what the local copy has by now."""
        if self._ahead:
            position = self._local.position()
            passed = [key for key, (offset, _) in self._ahead.items() if offset < position]
            for key in passed:
                del self._ahead[key]

    def __len__(self) -> int:
        return len(self._ahead)
