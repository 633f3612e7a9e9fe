"""A batch before its append: the state of each key after the requests decided so far.

Every change becomes a record of its own, even if several requests of one batch change the same
key. A version is the offset of a record, so each acknowledged change has a unique version, watchers
see every step, and the request ids in the log show which requests were applied. The price is a few
bytes for superseded records until the topic is compacted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from lastword.expiry import with_expiry
from lastword.records import ABSENT, NO_HEADERS, REQUEST_HEADER, Headers, Write
from lastword.rows import encode_row, headers_and_value_of, is_due, offset_of, value_of
from lastword.writer.owned.requests import AnyAnswer, Expected, new_request_id

Settle = Callable[[Sequence[int]], AnyAnswer]
"""(offsets of the batch) -> the answer to one request."""

ReadRow = Callable[[bytes], bytes | None]
"""A key's row as of the last acknowledged batch, or None."""


class Known(msgspec.Struct, frozen=True):
    """The state of a key before this batch; its row is None if the key is absent."""

    row: bytes | None

    @property
    def value(self) -> bytes | None:
        """The raw value, or None if the key is absent."""
        return None if self.row is None else value_of(self.row)

    @property
    def headers(self) -> Headers:
        """The headers of the value."""
        return NO_HEADERS if self.row is None else headers_and_value_of(self.row)[0]


class Pending(msgspec.Struct):
    """The state of a key after a request of this batch; ``number`` is the index of its record.

    Its ``row`` is made once the offsets of the batch are known, and stays None for a tombstone.
    """

    number: int
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    row: bytes | None = None


Cell = Known | Pending


class Draft:
    """The records of one batch, and the state of the partition's keys so far.

    Nothing in it is visible before the batch is acknowledged.
    """

    def __init__(self, partition: int, read: ReadRow, now_ms: int) -> None:
        self.partition = partition
        self.now_ms = now_ms
        self.records: list[Write] = []
        self._read = read
        self._cells: dict[bytes, Cell] = {}

    def cell(self, key: bytes) -> Cell:
        """The key's state in this batch. An expired key first gets its tombstone.

        Once the tombstone is acknowledged the key stays deleted, even if a successor's clock is
        behind.
        """
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = Known(self._read(key))
            if cell.row is not None and is_due(cell.row, self.now_ms):
                return self.write(key, None, new_request_id())
        return cell

    def meets(self, key: bytes, expected: Expected) -> bool:
        """Whether the key has the expected version.

        No caller has seen a version of this batch yet, so only the condition None accepts one.
        """
        if expected is None:
            return True
        cell = self.cell(key)
        if expected is ABSENT:
            return cell.value is None
        if isinstance(cell, Pending) or cell.row is None:
            return False
        return expected == (self.partition, offset_of(cell.row))

    def write(
        self,
        key: bytes,
        value: bytes | None,
        request_id: bytes,
        headers: Headers = NO_HEADERS,
        *,
        timestamp_ms: int | None = None,
        ttl_ms: int | None = None,
    ) -> Pending:
        """Add a record; returns the key's new state."""
        index, at_ms = len(self.records), timestamp_ms or self.now_ms
        if ttl_ms is not None and value is not None:
            headers = with_expiry(headers, ttl_ms, self.now_ms)
        marked = (*headers, (REQUEST_HEADER, request_id))
        self.records.append(Write(key, value, marked, at_ms, self.partition))
        cell = self._cells[key] = Pending(index, value, headers, at_ms)
        return cell

    def rows(self, offsets: Sequence[int]) -> dict[bytes, tuple[int, bytes | None]]:
        """Offset and row of every key that the batch changed, once its offsets are known."""
        return {
            key: (offsets[cell.number], row_of(cell, offsets))
            for key, cell in self._cells.items()
            if isinstance(cell, Pending)
        }


def row_of(cell: Cell, offsets: Sequence[int]) -> bytes | None:
    """The row of a cell, once the offsets of the batch are known."""
    if cell.row is None and isinstance(cell, Pending) and cell.value is not None:
        cell.row = encode_row(offsets[cell.number], cell.timestamp_ms, cell.headers, cell.value)
    return cell.row
