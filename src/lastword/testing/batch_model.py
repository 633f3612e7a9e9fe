"""What a batch must answer, by the plainest possible code: record by record, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from lastword.expiry import expires_header
from lastword.keyspace import Keyspace
from lastword.records import (
    EXPIRES_HEADER,
    FENCE_KEY,
    INSTANCE_HEADER,
    REQUEST_HEADER,
    Header,
    Headers,
    Record,
    Refused,
    RowChange,
    TableRules,
    Validate,
)
from lastword.rows import encode_row

OWNER: Header = ("lastword-owner", b"app/table")
INSTANCE: Header = (INSTANCE_HEADER, b"000000000000001-a")
REQUEST: Header = (REQUEST_HEADER, bytes(range(16)))
ODD_REQUEST: Header = (REQUEST_HEADER, b"15 bytes are no")
EXPIRES: Header = expires_header(1_700_000_000_000)
BAD_EXPIRES: Header = (EXPIRES_HEADER, b"-5")

# Few keys, so that batches have the same ones again; long ones, and some that end as windows do.
_SHORT = [b"a", b"b", b"user-1", b"user-2", b"\0", b"\xff" * 3, b"k" * 15, b"k" * 16]
_LONG = [b"x" * 511, b"x" * 512, b"x" * 513, b"y" * 4000]
_SUFFIXED = [key + bytes(range(n)) for key in _SHORT[:4] for n in (8, 16)]
KEYS = st.sampled_from([None, b"", FENCE_KEY, *_SHORT, *_LONG, *_SUFFIXED]) | st.binary(max_size=20)
VALUES = st.sampled_from([None, b"", b"1", b"!", b"!2", b"null"]) | st.binary(max_size=40)
_MARKS = [OWNER, INSTANCE, REQUEST, ODD_REQUEST, EXPIRES, BAD_EXPIRES]
_HEADER = st.sampled_from([("trace", b"1"), ("trace", None), ("", b""), *_MARKS])
HEADERS = st.none() | st.lists(_HEADER, min_size=1, max_size=3).map(tuple)
BY_AN_OWNER = st.none() | st.just((REQUEST,))
TIMES = st.integers(-1, 2**62) | st.integers(0, 5)

RULES = st.builds(
    TableRules,
    keyspace=st.builds(Keyspace, st.integers(1, 4), st.sampled_from([0, 8, 16])),
    sole_writer=st.none() | st.just(OWNER),
    takes_empty_keys=st.booleans(),
)


class WrittenBatch(NamedTuple):
    """The records of a batch, and its other fields."""

    records: list[Record]
    next_offset: int
    unreadable_headers: list[int]


def why_bad(_keys: object, values: Sequence[bytes], _headers: object) -> dict[int, str]:
    """A validator: values that begin with an exclamation mark cannot be read."""
    return {i: f"{each!r} is bad" for i, each in enumerate(values) if each.startswith(b"!")}


@st.composite
def batches(draw: st.DrawFn) -> WrittenBatch:
    """Any records of partition 0, with gaps between them.

    A third of the batches has any headers, another one at most those of an owner.
    """
    kinds = draw(st.sampled_from([HEADERS, BY_AN_OWNER, st.none()]))
    rows = draw(st.lists(st.tuples(KEYS, VALUES, kinds, TIMES, st.integers(1, 3)), max_size=60))
    records, offset = [], draw(st.integers(0, 2**40))
    for key, value, headers, time_ms, step in rows:
        records.append(Record(0, offset, time_ms, key, value, headers or ()))
        offset += step
    unreadable = [each.offset for each in records if not each.headers]
    chosen = draw(st.sets(st.sampled_from(unreadable), max_size=3)) if unreadable else set()
    return WrittenBatch(records, offset, sorted(chosen))


@st.composite
def plain_batches(draw: st.DrawFn) -> tuple[WrittenBatch, TableRules]:
    """Puts without headers, of keys that belong to partition 0: most batches of a restore."""
    keyspace = draw(st.builds(Keyspace, st.integers(1, 3)))
    keys = [b"user-%d" % n for n in range(60)]
    here = [key for key in keys if keyspace.partition_of(key) == 0] + [FENCE_KEY]
    pairs = draw(st.lists(st.tuples(st.sampled_from(here), st.binary(max_size=9)), max_size=60))
    first = draw(st.integers(0, 2**40))
    records = [Record(0, first + i, i, key, value) for i, (key, value) in enumerate(pairs)]
    return WrittenBatch(records, first + len(records), []), TableRules(keyspace)


@st.composite
def busy_batches(draw: st.DrawFn) -> tuple[WrittenBatch, TableRules]:
    """Puts and deletes of very few keys, without headers: each key comes again and again."""
    keys = st.sampled_from([b"a", b"b", b"user-1", b"", None, FENCE_KEY])
    pairs = draw(st.lists(st.tuples(keys, st.sampled_from([None, b"", b"1"])), max_size=20))
    records = [Record(0, 7 + i, i, key, value) for i, (key, value) in enumerate(pairs)]
    rules = TableRules(Keyspace(draw(st.integers(1, 2))), takes_empty_keys=draw(st.booleans()))
    return WrittenBatch(records, 7 + len(records), []), rules


class TableModel:
    """A table's view of some records."""

    def __init__(
        self, records: Sequence[Record], rules: TableRules, validate: Validate | None = None
    ) -> None:
        self.state: dict[bytes, bytes | None] = {}
        self.last_at: dict[bytes, int] = {}
        self.keyless = self.misplaced = 0
        self._headers: dict[bytes, Headers] = {}
        self._bad: dict[bytes, list[Refused]] = {}
        for record in records:
            self._take(record, rules, validate)

    def _take(self, record: Record, rules: TableRules, validate: Validate | None) -> None:
        key, value = record.key, record.value
        if key == FENCE_KEY:
            return
        if key is None or (not key and not rules.takes_empty_keys):
            self.keyless += 1
        elif rules.keyspace.partition_of(key) != record.partition:
            self.misplaced += 1
        elif (why := _why_refused(record, validate)) is not None:
            self._bad.setdefault(key, []).append(Refused(record.offset, key, why))
        else:
            self._bad.pop(key, None)  # what follows it counts, not what was bad before
            self.state[key] = None if value is None else row_of(record, rules)
            self.last_at[key] = record.offset
            self._headers[key] = record.headers

    @property
    def puts(self) -> dict[bytes, bytes]:
        """The rows, in the order of their records."""
        keys = sorted(self.state, key=self.last_at.__getitem__)
        return {key: row for key in keys if (row := self.state[key]) is not None}

    @property
    def bad_expiries(self) -> int:
        """How many rows have a header that names no expiry, as the last of its name."""
        named = [
            [each for each in self._headers[key] if each[0] == EXPIRES_HEADER] for key in self.puts
        ]
        return sum(each[-1:] == [BAD_EXPIRES] for each in named)

    @property
    def deletes(self) -> set[bytes]:
        """The keys whose last record is a tombstone."""
        return {key for key, row in self.state.items() if row is None}

    @property
    def refused(self) -> list[Refused]:
        """The bad records after the last good one of their key."""
        return sorted(each for bad in self._bad.values() for each in bad)


def belongs(record: Record, rules: TableRules) -> bool:
    """Whether one record is of the table."""
    return bool(TableModel([record], rules).state)


def row_of(record: Record, rules: TableRules) -> bytes:
    """The row of a record that is not a tombstone."""
    headers = unmarked(record.headers, rules)
    return encode_row(record.offset, record.timestamp_ms, headers, record.value or b"")


def unmarked(headers: Headers, rules: TableRules) -> Headers:
    """The headers without the marks of an owner, and without those of an evicting table."""
    headers = tuple(each for each in headers if each[0] != REQUEST_HEADER)
    if rules.sole_writer is None:
        return headers
    return tuple(
        each for each in headers if each != rules.sole_writer and each[0] != INSTANCE_HEADER
    )


def row_changes(
    records: Sequence[Record], rules: TableRules, since_ms: int, validate: Validate | None
) -> Iterator[RowChange]:
    """Every change that belongs to the table."""
    for record in records:
        since_ms = max(since_ms, record.timestamp_ms)
        key, value = record.key or b"", record.value
        if belongs(record, rules) and _why_refused(record, validate) is None:
            row = None if value is None else row_of(record, rules)
            yield RowChange(key, record.offset, since_ms, row)


def _why_refused(record: Record, validate: Validate | None) -> str | None:
    if record.value is None or validate is None:
        return None
    return validate([record.key or b""], [record.value], [record.headers]).get(0)
