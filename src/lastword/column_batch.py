"""A batch whose columns are Python lists and numpy arrays, and the loops over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from lastword.expiry import names_expiry
from lastword.keyspace import Keyspace
from lastword.lazy_numpy import np
from lastword.records import (
    FENCE_KEY,
    INSTANCE_HEADER,
    NO_HEADERS,
    REQUEST_HEADER,
    Batch,
    BatchContents,
    Header,
    Headers,
    Record,
    Refused,
    RowChange,
    TableRows,
    TableRules,
    Validate,
)
from lastword.rows import HAS_EXPIRY, encode_row, plain_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_OWNER_MARKS = frozenset([REQUEST_HEADER])
_TABLE_MARKS = frozenset([REQUEST_HEADER, INSTANCE_HEADER])


class ColumnBatch(Batch):
    """The columns as they are given; lists of offsets and timestamps become arrays."""

    __slots__ = (
        "headers",
        "keys",
        "leader_epoch",
        "next_offset",
        "offsets",
        "partition",
        "timestamps",
        "unreadable_headers",
        "values",
    )

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    headers: Sequence[Headers | None]

    def __init__(
        self,
        *,
        partition: int,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        offsets: ArrayLike,
        timestamps: ArrayLike,
        headers: Sequence[Headers | None],
        next_offset: int,
        leader_epoch: int = -1,
        unreadable_headers: Sequence[int] = (),
    ) -> None:
        self.partition = partition
        self.keys = keys
        self.values = values
        self.offsets = np.asarray(offsets, np.int64)
        self.timestamps = np.asarray(timestamps, np.int64)
        self.headers = headers
        self.next_offset = next_offset
        self.leader_epoch = leader_epoch
        self.unreadable_headers = unreadable_headers

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def size_bytes(self) -> int:
        """The bytes of all keys and values."""
        return sum(map(len, filter(None, self.keys))) + sum(map(len, filter(None, self.values)))

    def first(self, count: int, next_offset: int) -> ColumnBatch:
        """The first ``count`` records; reading continues at ``next_offset``."""
        return ColumnBatch(
            partition=self.partition,
            keys=self.keys[:count],
            values=self.values[:count],
            offsets=self.offsets[:count],
            timestamps=self.timestamps[:count],
            headers=self.headers[:count],
            next_offset=next_offset,
            leader_epoch=self.leader_epoch,
            unreadable_headers=[each for each in self.unreadable_headers if each < next_offset],
        )

    def below(self, end: int) -> ColumnBatch:
        """The records with an offset below ``end``; reading continues there."""
        if self.next_offset <= end:
            return self
        return self.first(int(np.searchsorted(self.offsets, end)), end)

    # -- record by record --------------------------------------------------------------------

    def records(self) -> Iterator[Record]:
        """One Record after another."""
        offsets, timestamps = self.offsets.tolist(), self.timestamps.tolist()
        columns = zip(offsets, timestamps, self.keys, self.values, self.headers, strict=True)
        for offset, timestamp_ms, key, value, headers in columns:
            yield Record(self.partition, offset, timestamp_ms, key, value, headers or NO_HEADERS)

    def records_of(self, key: bytes) -> list[Record]:
        """The records of one key."""
        return [each for each in self.records() if each.key == key] if key in self.keys else []

    def table_records(self, rules: TableRules) -> Iterator[Record]:
        """The records that belong to a table, every change of a key among them."""
        outside = self._outside(rules)
        for i, record in enumerate(self.records()):
            if i not in outside:
                yield record._replace(headers=_unmarked(record.headers, rules.sole_writer))

    def row_changes(
        self, rules: TableRules, since_ms: int, validate: Validate | None = None
    ) -> Iterator[RowChange]:
        """Every change that belongs to a table, as a row."""
        outside = self._outside(rules)
        refused = {} if validate is None else self._problems(range(len(self)), validate)
        places = zip(self.offsets.tolist(), self.timestamps.tolist(), strict=True)
        for i, (offset, timestamp_ms) in enumerate(places):
            since_ms = max(since_ms, timestamp_ms)  # also of dropped records
            if i in outside or i in refused:
                continue
            key, value, row = self.keys[i] or b"", self.values[i], None
            if value is not None:
                headers = _unmarked(self.headers[i] or NO_HEADERS, rules.sole_writer)
                row = encode_row(offset, timestamp_ms, headers, value)
            yield RowChange(key, offset, since_ms, row)

    def tombstones(self) -> dict[bytes, int]:
        """The offset of the last tombstone of each key that has one here."""
        if None not in self.values:
            return {}
        columns = zip(self.keys, self.values, self.offsets.tolist(), strict=True)
        return {key: offset for key, value, offset in columns if value is None and key is not None}

    def contents(self) -> BatchContents:
        """Counts and sizes."""
        tombstones = keyless = 0
        sizes: dict[bytes, int | None] = {}
        for key, value in zip(self.keys, self.values, strict=True):
            if not key:
                keyless += 1
            elif value is None:
                tombstones += 1
                sizes[key] = None
            else:
                sizes[key] = len(key) + len(value)
        return BatchContents(tombstones, keyless, sizes)

    def offset_without(self, header: Header) -> int | None:
        """The offset of the first record that does not carry ``header``, or None."""
        for i, headers in enumerate(self.headers):
            if header not in (headers or NO_HEADERS) and self.keys[i] != FENCE_KEY:
                return int(self.offsets[i])
        return None

    def header_values(self, name: str) -> Iterator[tuple[int, bytes]]:
        """(offset, value) of each record whose first header of that name has a value."""
        for i, headers in enumerate(self.headers):
            value = next((value for other, value in headers or () if other == name), None)
            if value is not None:
                yield int(self.offsets[i]), value

    def unowned(self) -> int:
        """How many records, fence records apart, have no request id: no owner wrote them."""
        records = zip(self.keys, self.headers, strict=True)
        return sum(
            key != FENCE_KEY and not any(name == REQUEST_HEADER for name, _ in headers or ())
            for key, headers in records
        )

    # -- all records at once -----------------------------------------------------------------

    def table_rows(self, rules: TableRules, validate: Validate | None = None) -> TableRows:
        """What the batch does to the store of a table."""
        simple = validate is None and rules.sole_writer is None
        plain = self._plain_rows(rules) if simple else None
        return plain or self._careful_rows(rules, validate)

    def _plain_rows(self, rules: TableRules) -> TableRows | None:
        """Only puts, no headers, nothing to drop: nearly every batch of a restore."""
        keys, values = self.keys, self.values
        if (
            None in values
            or None in keys
            or b"" in keys
            or self._has_headers
            or len(rules.keyspace.misplaced(keys, self.partition))  # type: ignore[arg-type]
        ):
            return None
        rows = plain_rows(self.offsets, self.timestamps, values)  # type: ignore[arg-type]
        puts: dict[bytes, bytes] = dict(zip(keys, rows, strict=True))  # type: ignore[arg-type]
        puts.pop(FENCE_KEY, None)
        return TableRows(puts, [])

    def _careful_rows(self, rules: TableRules, validate: Validate | None) -> TableRows:
        """The same for any batch: by the index of each key's last record."""
        last: dict[bytes | None, int] = dict(zip(self.keys, range(len(self)), strict=True))
        last.pop(FENCE_KEY, None)
        keyless = self._drop_keyless(last, takes_empty_keys=rules.takes_empty_keys)
        misplaced = self._drop_misplaced(last, rules.keyspace)
        refused = [] if validate is None else self._drop_refused(last, validate)
        if rules.sole_writer is not None:
            last = dict(sorted(last.items(), key=itemgetter(1)))
        deletes = [key for key, i in last.items() if self.values[i] is None]
        for key in deletes:
            del last[key]
        chosen = list(last.values())
        rows = self._rows(chosen, rules.sole_writer)
        puts: dict[bytes, bytes] = dict(zip(last, rows, strict=True))  # type: ignore[arg-type]
        bad_expiries = self._bad_expiries(chosen, rows) if self._has_headers else 0
        return TableRows(puts, deletes, keyless, misplaced, refused, bad_expiries)  # type: ignore[arg-type]

    def _rows(self, chosen: list[int], mark: Header | None) -> list[bytes]:
        """The rows of the records at these indexes, all of which have values."""
        values: list[bytes] = [self.values[i] for i in chosen]  # type: ignore[misc]
        at = np.array(chosen, np.int64)
        offsets, timestamps = self.offsets[at], self.timestamps[at]
        if not self._has_headers:
            return plain_rows(offsets, timestamps, values)
        headers = [_unmarked(self.headers[i] or NO_HEADERS, mark) for i in chosen]
        return list(map(encode_row, offsets.tolist(), timestamps.tolist(), headers, values))

    def _bad_expiries(self, chosen: list[int], rows: list[bytes]) -> int:
        """How many of these rows do not expire, although their headers say that they do."""
        lasting = [i for i, row in zip(chosen, rows, strict=True) if not row[0] & HAS_EXPIRY]
        return sum(names_expiry(self.headers[i] or NO_HEADERS) for i in lasting)

    @property
    def _has_headers(self) -> bool:
        return self.headers.count(None) < len(self.headers)

    def _outside(self, rules: TableRules) -> set[int]:
        """The indexes of the records that do not belong to the table."""
        strays = rules.keyspace.misplaced([key or b"" for key in self.keys], self.partition)
        outside = set(strays.tolist())
        refused = (None, FENCE_KEY) if rules.takes_empty_keys else (None, FENCE_KEY, b"")
        outside.update(i for i, key in enumerate(self.keys) if key in refused)
        return outside

    def _drop_keyless(self, last: dict[bytes | None, int], *, takes_empty_keys: bool) -> int:
        """Drop null keys, and empty ones, which brokers accept."""
        refused = (None,) if takes_empty_keys else (None, b"")
        return sum(self.keys.count(key) for key in refused if last.pop(key, None) is not None)

    def _drop_misplaced(self, last: dict[bytes | None, int], keyspace: Keyspace) -> int:
        """Drop keys that do not belong to this partition."""
        keys = list(last)
        strays = {keys[i] for i in keyspace.misplaced(keys, self.partition).tolist()}  # type: ignore[arg-type]
        for key in strays:
            del last[key]
        return sum(1 for key in self.keys if key in strays) if strays else 0

    def _drop_refused(self, last: dict[bytes | None, int], validate: Validate) -> list[Refused]:
        """Drop values that cannot be read; the last good record of the key counts instead."""

        found = self._problems(list(last.values()), validate)
        suspects = {self.keys[i] for i in found}
        indexes: dict[bytes | None, list[int]] = {key: [] for key in suspects}
        for i, key in enumerate(self.keys if suspects else ()):
            if key in suspects:
                indexes[key].append(i)
        refused: list[Refused] = []
        for key, of_key in indexes.items():
            del last[key]
            for i in reversed(of_key):
                reason = self._problems([i], validate).get(i)
                if reason is None:
                    last[key] = i
                    break
                refused.append(Refused(int(self.offsets[i]), key or b"", reason))
        return refused

    def _problems(self, indexes: Sequence[int], validate: Validate) -> dict[int, str]:
        """Why some of the records at ``indexes`` are bad; a tombstone never is."""
        puts = [i for i in indexes if self.values[i] is not None]
        found = validate(
            [self.keys[i] or b"" for i in puts],
            [self.values[i] for i in puts],  # type: ignore[misc]
            [self.headers[i] or NO_HEADERS for i in puts],
        )
        return {puts[i]: reason for i, reason in found.items()}


def _unmarked(headers: Headers, mark: Header | None) -> Headers:
    """The headers as the user gave them: without an owner's and an evicting table's marks."""
    names = _OWNER_MARKS if mark is None else _TABLE_MARKS
    if headers and any(each[0] in names or each == mark for each in headers):
        return tuple(each for each in headers if each[0] not in names and each != mark)
    return headers
