"""A batch whose records are in the native module's memory, which has the hot loop over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lastword.column_batch import ColumnBatch
from lastword.lazy_numpy import np
from lastword.records import (
    FENCE_KEY,
    REQUEST_HEADER,
    Batch,
    BatchContents,
    Header,
    Headers,
    Record,
    RowChange,
    TableRows,
    TableRules,
    Validate,
)
from lastword.rows import PLAIN_ROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lastword._native import Columns  # there may be no such module


class NativeBatch(Batch):
    """Turns plain records into rows natively, and answers all else as a ``ColumnBatch`` does.

    A record is plain if it has no headers, or only the request id of an owner.

    It creates Python objects on first use: a restore needs only the rows.
    """

    __slots__ = (
        "_columns",
        "_lists",
        "leader_epoch",
        "next_offset",
        "partition",
        "unreadable_headers",
    )

    def __init__(self, columns: Columns, next_offset: int) -> None:
        self._columns = columns
        self._lists: ColumnBatch | None = None
        self.partition = columns.partition
        self.leader_epoch = columns.leader_epoch
        self.next_offset = next_offset
        self.unreadable_headers: Sequence[int] = columns.unreadable

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def size_bytes(self) -> int:
        """The bytes of all keys and values."""
        return self._columns.size_bytes

    def table_rows(self, rules: TableRules, validate: Validate | None = None) -> TableRows:
        """What the batch does to the store of a table."""
        columns, keyspace = self._columns, rules.keyspace
        if columns.headers is not None or validate is not None or rules.sole_writer is not None:
            return self._as_lists.table_rows(rules, validate)
        puts, deletes, keyless, misplaced = columns.rows(
            PLAIN_ROW,
            keyspace.partitions,
            keyspace.suffix_bytes,
            rules.takes_empty_keys,
            FENCE_KEY,
        )
        return TableRows(puts, deletes, keyless, misplaced)

    # -- as Python objects -------------------------------------------------------------------

    @property
    def _as_lists(self) -> ColumnBatch:
        if self._lists is None:
            columns = self._columns
            self._lists = ColumnBatch(
                partition=self.partition,
                keys=columns.keys(),
                values=columns.values(),
                offsets=np.frombuffer(columns.offsets(), np.int64),
                timestamps=np.frombuffer(columns.timestamps(), np.int64),
                headers=_headers_of(columns),
                next_offset=self.next_offset,
                leader_epoch=self.leader_epoch,
                unreadable_headers=self.unreadable_headers,
            )
        return self._lists

    @property
    def keys(self) -> Sequence[bytes | None]:
        """The keys."""
        return self._as_lists.keys

    @property
    def values(self) -> Sequence[bytes | None]:
        """The values; None is a tombstone."""
        return self._as_lists.values

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The offsets."""
        return self._as_lists.offsets

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The timestamps in milliseconds."""
        return self._as_lists.timestamps

    @property
    def headers(self) -> Sequence[Headers | None]:
        """The headers; None for a record without any."""
        return self._as_lists.headers

    def first(self, count: int, next_offset: int) -> Batch:
        """The first ``count`` records; reading continues at ``next_offset``."""
        return self._as_lists.first(count, next_offset)

    def below(self, end: int) -> Batch:
        """The records with an offset below ``end``; reading continues there."""
        return self if self.next_offset <= end else self._as_lists.below(end)

    def records(self) -> Iterator[Record]:
        """One Record after another."""
        return self._as_lists.records()

    def records_of(self, key: bytes) -> list[Record]:
        """The records of one key."""
        return self._as_lists.records_of(key)

    def table_records(self, rules: TableRules) -> Iterator[Record]:
        """The records that belong to a table, every change of a key among them."""
        return self._as_lists.table_records(rules)

    def row_changes(
        self, rules: TableRules, since_ms: int, validate: Validate | None = None
    ) -> Iterator[RowChange]:
        """Every change that belongs to a table, as a row."""
        return self._as_lists.row_changes(rules, since_ms, validate)

    def tombstones(self) -> dict[bytes, int]:
        """The offset of the last tombstone of each key that has one here."""
        return self._as_lists.tombstones()

    def contents(self) -> BatchContents:
        """Counts and sizes."""
        return self._as_lists.contents()

    def offset_without(self, header: Header) -> int | None:
        """The offset of the first record that does not carry ``header``, or None."""
        return self._as_lists.offset_without(header)

    def header_values(self, name: str) -> Iterator[tuple[int, bytes]]:
        """(offset, value) of each record whose first header of that name has a value."""
        return self._as_lists.header_values(name)

    def unowned(self) -> int:
        """How many records, fence records apart, have no request id: no owner wrote them."""
        if self._columns.headers is not None:
            return self._as_lists.unowned()
        return self._columns.unrequested(FENCE_KEY)


def _headers_of(columns: Columns) -> list[Headers | None]:
    """The headers of each record. A request id that is the only header is kept separately."""
    headers: list[Headers | None] = list(columns.headers or [None] * len(columns))
    for i, request_id in enumerate(columns.requests() or ()):
        if request_id is not None:
            headers[i] = ((REQUEST_HEADER, request_id),)
    return headers
