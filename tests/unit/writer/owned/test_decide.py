"""A batch decided at once does what a simple model does one request at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.codecs.structured import StructuredCodec
from lastword.errors import InvalidRecordError, WriteFailedError
from lastword.records import ABSENT, REQUEST_HEADER, Version
from lastword.rows import decode_row, encode_row, offset_of, value_of
from lastword.writer.owned.decide import Decided, decide
from lastword.writer.owned.draft import Draft
from lastword.writer.owned.requests import (
    AnyRequest,
    Applied,
    Conflicted,
    Current,
    Expected,
    Operate,
    Put,
    Read,
    SentRequest,
    Transact,
    Update,
)
from lastword.writer.owned.value_operations import ValueOperations

PARTITION = 3
BASE = 100
NOW_MS = 1_700_000_000_000
OPERATIONS = ValueOperations(StructuredCodec("json"))
KEYS = [b"a", b"b", b"c"]


def row(offset: int, value: Any) -> bytes:
    return encode_row(offset, NOW_MS - 1, (), json.dumps(value).encode())


def decided(rows: Mapping[bytes, bytes], requests: Sequence[AnyRequest]) -> Decided:
    return decide(requests, Draft(PARTITION, rows.get, NOW_MS), OPERATIONS, None)


def answers(rows: Mapping[bytes, bytes], *requests: AnyRequest) -> list[Any]:
    found = decided(rows, requests)
    return found.answers(range(BASE, BASE + len(found.records)))


def increment(key: bytes, by: float = 1) -> Operate:
    return Operate(key=key, operation="increment", argument=OPERATIONS.argument("increment", by))


def value(answer: Any) -> Any:
    assert isinstance(answer, Applied | Current | Conflicted), answer
    return None if answer.row is None else json.loads(value_of(answer.row))


# -- conditions ------------------------------------------------------------------------------


def test_a_put_with_the_current_version_is_applied_as_the_next_offset() -> None:
    rows = {b"a": row(7, 1)}
    (answer,) = answers(rows, Put(key=b"a", value=b"2", expected=Version(PARTITION, 7)))
    assert isinstance(answer, Applied)
    assert answer.version == Version(PARTITION, BASE)


@pytest.mark.parametrize("expected", [Version(PARTITION, 6), Version(0, 7), ABSENT])
def test_a_losing_put_leaves_no_record_and_gets_the_current_row(expected: Expected) -> None:
    rows = {b"a": row(7, 1)}
    found = decided(rows, [Put(key=b"a", value=b"2", expected=expected)])
    assert found.records == []
    assert found.answers([]) == [Conflicted(b"a", rows[b"a"])]


def test_a_key_that_is_not_there_meets_absent_and_no_version() -> None:
    first, second = answers(
        {},
        Put(key=b"a", value=b"1", expected=ABSENT),
        Put(key=b"b", value=b"1", expected=Version(PARTITION, 0)),
    )
    assert isinstance(first, Applied)
    assert second == Conflicted(b"b", None)


def test_of_two_in_one_batch_the_first_wins_and_the_second_gets_its_row() -> None:
    rows = {b"a": row(7, 1)}
    puts = [Put(key=b"a", value=b"%d" % n, expected=Version(PARTITION, 7)) for n in (2, 3)]
    won, lost = answers(rows, *puts)
    assert won.version == Version(PARTITION, BASE)
    assert isinstance(lost, Conflicted)
    assert lost.row is not None
    assert (offset_of(lost.row), value_of(lost.row)) == (BASE, b"2")


def test_a_conflict_with_a_pending_delete_says_that_the_key_is_absent() -> None:
    rows = {b"a": row(7, 1)}
    _, lost = answers(
        rows,
        Put(key=b"a", value=None),
        Put(key=b"a", value=b"2", expected=Version(PARTITION, 7)),
    )
    assert lost == Conflicted(b"a", None)


# -- operations ------------------------------------------------------------------------------


def test_increments_of_one_key_are_chained_and_each_has_a_version_of_its_own() -> None:
    requests = [increment(b"a") for _ in range(50)]
    found = decided({b"a": row(7, 10)}, requests)
    given_answers: list[Any] = found.answers(range(BASE, BASE + 50))
    assert [value(answer) for answer in given_answers] == list(range(11, 61))
    assert len({answer.version for answer in given_answers}) == 50
    marks = [dict(record.headers)[REQUEST_HEADER] for record in found.records]
    assert marks == [request.request_id for request in requests]
    assert all(decode_row(answer.row or b"").headers == () for answer in given_answers)


def test_merge_follows_rfc_7396() -> None:
    patch = OPERATIONS.argument("merge", {"age": None, "home": {"city": "Jena"}})
    (merged,) = answers(
        {b"a": row(7, {"name": "Ada", "age": 3, "home": {"zip": 1}})},
        Operate(key=b"a", operation="merge", argument=patch),
    )
    assert value(merged) == {"name": "Ada", "home": {"zip": 1, "city": "Jena"}}


def test_append_makes_a_list_and_lengthens_it() -> None:
    item = OPERATIONS.argument("append", "x")
    append = Operate(key=b"a", operation="append", argument=item)
    found = answers({}, append, append)
    assert [value(answer) for answer in found] == [["x"], ["x", "x"]]


def test_put_if_greater_keeps_the_greater_and_writes_nothing_if_that_is_the_current() -> None:
    def greater(number: int) -> Operate:
        argument = OPERATIONS.argument("put_if_greater", number)
        return Operate(key=b"a", operation="put_if_greater", argument=argument)

    requests = [greater(5), greater(3), greater(9)]
    found = decided({}, requests)
    first, second, third = found.answers([BASE, BASE + 1])
    assert [value(answer) for answer in (first, second, third)] == [5, 5, 9]
    assert isinstance(second, Current)
    assert len(found.records) == 2


@pytest.mark.parametrize(
    ("operation", "argument"),
    [("increment", 1), ("append", 1), ("merge", {"a": 1}), ("put_if_greater", 1), ("divide", 2)],
)
def test_an_operation_on_an_unsuitable_value_is_refused_alone(
    operation: str, argument: object
) -> None:
    requests: list[AnyRequest] = [
        Operate(key=b"a", operation=operation, argument=OPERATIONS.argument(operation, argument)),
        Put(key=b"b", value=b"1"),
    ]
    refused, applied = answers({b"a": row(7, "text")}, *requests)
    assert isinstance(refused, InvalidRecordError)
    assert refused.hint
    assert isinstance(applied, Applied)


# -- functions -------------------------------------------------------------------------------


def test_an_update_sees_the_update_before_it() -> None:
    def add_one(raw: bytes | None) -> bytes:
        return b"%d" % (int(raw or b"0") + 1)

    found = answers({}, *[Update(b"a", add_one) for _ in range(3)])
    assert [value(answer) for answer in found] == [1, 2, 3]


def test_an_update_that_returns_none_deletes_the_key_and_one_without_a_key_does_nothing() -> None:
    found = decided({b"a": row(7, 1)}, [Update(b"a", lambda _: None) for _ in range(2)])
    deleted, unchanged = found.answers([BASE])
    assert deleted == Applied((Version(PARTITION, BASE),), None)
    assert unchanged == Current(None)
    assert [record.value for record in found.records] == [None]


def test_a_function_that_raises_fails_alone_and_its_error_is_the_cause() -> None:
    def broken(_: bytes | None) -> bytes:
        raise ZeroDivisionError("by zero")

    failed, applied = answers({}, Update(b"a", broken), Put(key=b"a", value=b"1"))
    assert isinstance(failed, WriteFailedError)
    assert isinstance(failed.__cause__, ZeroDivisionError)
    assert isinstance(applied, Applied)


# -- several keys ----------------------------------------------------------------------------


def test_a_transaction_writes_all_its_keys_or_none() -> None:
    rows = {b"a": row(7, 1)}
    writes = ((b"a", b"2"), (b"b", b"3"))
    won, lost = answers(
        rows,
        Transact(writes=writes, expected=((b"a", Version(PARTITION, 7)), (b"c", ABSENT))),
        Transact(writes=writes, expected=((b"c", ABSENT), (b"b", ABSENT))),
    )
    assert won.versions == (Version(PARTITION, BASE), Version(PARTITION, BASE + 1))
    assert isinstance(lost, Conflicted)
    assert lost.key == b"b"
    assert value(lost) == 3


def test_a_request_with_an_invalid_record_is_refused_whole() -> None:
    found = decided({}, [Transact(writes=((b"a", b"1"), (b"", b"2"))), Put(key=b"", value=b"1")])
    assert found.records == []
    assert all(isinstance(answer, InvalidRecordError) for answer in found.answers([]))


# -- the model -------------------------------------------------------------------------------


versions = st.builds(Version, st.just(PARTITION), st.integers(0, 9))
conditions = st.none() | st.just(ABSENT) | versions
keys = st.sampled_from(KEYS)
numbers = st.integers(-5, 5)
values = st.none() | numbers.map(lambda n: b"%d" % n)
requests_of_any_kind = st.one_of(
    st.builds(
        lambda key, value, expected: Put(key=key, value=value, expected=expected),
        keys,
        values,
        conditions,
    ),
    st.builds(increment, keys, numbers),
    st.builds(
        lambda key, number: Operate(
            key=key,
            operation="put_if_greater",
            argument=OPERATIONS.argument("put_if_greater", number),
        ),
        keys,
        numbers,
    ),
    st.builds(lambda key: Read(key=key), keys),
    st.builds(
        lambda writes, expected: Transact(
            writes=tuple(writes.items()), expected=tuple(expected.items())
        ),
        st.dictionaries(keys, values, min_size=1),
        st.dictionaries(keys, st.just(ABSENT) | versions),
    ),
)


class Model:
    """What one request after another does: key -> (offset, number)."""

    def __init__(self, rows: Mapping[bytes, tuple[int, int]]) -> None:
        self.rows = dict(rows)
        self.log: list[tuple[bytes, int | None]] = []

    def put(self, key: bytes, number: int | None) -> int:
        offset = BASE + len(self.log)
        self.log.append((key, number))
        if number is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = offset, number
        return offset

    def meets(self, key: bytes, expected: Expected) -> bool:
        found = self.rows.get(key)
        if expected is None:
            return True
        if expected is ABSENT:
            return found is None
        return found is not None and expected == (PARTITION, found[0])

    def ask(self, request: SentRequest) -> tuple[str, object]:
        match request:
            case Put(key=key, value=raw, expected=expected):
                return self.write({key: raw}, {key: expected})
            case Transact(writes=writes, expected=wanted):
                return self.write(dict(writes), dict(wanted))
            case Operate(key=key):
                return self.operate(key, request)
            case Read(key=key):
                return "current", self.rows.get(key)
        raise AssertionError(request)

    def write(
        self, writes: Mapping[bytes, bytes | None], wanted: Mapping[bytes, Expected]
    ) -> tuple[str, object]:
        for key, expected in wanted.items():
            if not self.meets(key, expected):
                return "conflict", self.rows.get(key)
        numbers = {key: None if raw is None else int(raw) for key, raw in writes.items()}
        return "applied", [self.put(key, number) for key, number in numbers.items()]

    def operate(self, key: bytes, request: Operate) -> tuple[str, object]:
        if request.operation == "increment":
            by = msgspec.msgpack.decode(request.argument)
            return "applied", [self.put(key, self.rows.get(key, (0, 0))[1] + by)]
        if key in self.rows and self.rows[key][1] >= int(request.argument):
            return "current", self.rows[key]
        return "applied", [self.put(key, int(request.argument))]


def simplified(answer: Any) -> tuple[str, object]:
    match answer:
        case Applied(versions=versions):
            return "applied", [version.offset for version in versions]
        case Conflicted(row=raw) | Current(row=raw):
            found = None if raw is None else (decode_row(raw).offset, int(decode_row(raw).value))
            return ("conflict" if isinstance(answer, Conflicted) else "current"), found
    raise AssertionError(answer)


@given(
    st.dictionaries(keys, st.tuples(st.integers(0, 9), numbers)),
    st.lists(st.lists(requests_of_any_kind, max_size=8), max_size=4),
)
def test_batches_do_what_the_model_does_one_request_at_a_time(
    start: dict[bytes, tuple[int, int]], batches: list[list[Any]]
) -> None:
    model = Model(start)
    rows = {key: row(offset, number) for key, (offset, number) in start.items()}
    end = BASE
    for batch in batches:
        found = decided(rows, batch)
        offsets = range(end, end + len(found.records))
        end += len(found.records)
        given_answers = [simplified(answer) for answer in found.answers(offsets)]
        assert given_answers == [model.ask(request) for request in batch]
        for key, (_, changed) in found.draft.rows(offsets).items():
            rows.pop(key, None)
            if changed is not None:
                rows[key] = changed
    assert {key: (offset_of(raw), int(value_of(raw))) for key, raw in rows.items()} == model.rows


@given(requests_of_any_kind)
def test_a_request_can_be_sent_to_a_peer(request: Any) -> None:
    sent = msgspec.msgpack.encode(request)
    assert msgspec.msgpack.decode(sent, type=SentRequest) == request
