from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lastword.expiry import expires_header
from lastword.records import NO_HEADERS
from lastword.rows import (
    PLAIN_ROW,
    PREFIX_BYTES,
    ROW_FORMAT,
    decode_row,
    encode_row,
    expires_at_of,
    is_due,
    offset_of,
    pack_prefix,
    plain_rows,
    timestamp_of,
    value_and_time_of,
    value_of,
)

OFFSETS = st.integers(0, 2**63 - 1)
TIMESTAMPS = st.integers(-1, 2**63 - 1)  # Kafka gives -1 for "no timestamp"
HEADERS = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=3)


@given(OFFSETS, TIMESTAMPS, HEADERS, st.binary(max_size=50))
def test_a_row_gives_back_what_went_in(
    offset: int, timestamp_ms: int, headers: list[tuple[str, bytes | None]], value: bytes
) -> None:
    row = encode_row(offset, timestamp_ms, tuple(headers), value)
    assert decode_row(row) == (offset, timestamp_ms, tuple(headers), value, None)
    assert offset_of(row) == offset


@given(OFFSETS, TIMESTAMPS, HEADERS, st.binary(max_size=50), st.integers(10**12, 10**13 - 1))
def test_a_row_whose_headers_name_an_expiry_has_it_in_its_prefix(
    offset: int,
    timestamp_ms: int,
    headers: list[tuple[str, bytes | None]],
    value: bytes,
    expires_at_ms: int,
) -> None:
    given_headers = (*headers, expires_header(expires_at_ms))
    row = encode_row(offset, timestamp_ms, given_headers, value)
    assert decode_row(row) == (offset, timestamp_ms, given_headers, value, expires_at_ms)
    assert expires_at_of(row) == expires_at_ms
    assert (offset_of(row), timestamp_of(row), value_of(row)) == (offset, timestamp_ms, value)
    assert value_and_time_of(row) == (value, timestamp_ms)


def test_a_row_is_due_from_its_expiry_on_and_never_without_one() -> None:
    row = encode_row(7, 8, (expires_header(1_700_000_000_000),), b"x")
    assert not is_due(row, 1_699_999_999_999)
    assert is_due(row, 1_700_000_000_000)
    for lasting in (encode_row(7, 8, None, b"x"), encode_row(7, 8, (("a", b"b"),), b"x")):
        assert expires_at_of(lasting) is None
        assert not is_due(lasting, 2**62)


@given(OFFSETS, TIMESTAMPS, st.binary(max_size=50))
def test_a_row_without_headers_is_a_prefix_and_the_value_as_it_was(
    offset: int, timestamp_ms: int, value: bytes
) -> None:
    plain = pack_prefix(PLAIN_ROW, offset, timestamp_ms) + value
    assert encode_row(offset, timestamp_ms, None, value) == plain
    assert encode_row(offset, timestamp_ms, NO_HEADERS, value) == plain
    assert len(plain) == PREFIX_BYTES + len(value)


def test_an_empty_value_is_a_row_and_not_a_missing_one() -> None:
    assert decode_row(encode_row(7, 8, None, b"")).value == b""
    assert decode_row(encode_row(7, 8, (("trace", None),), b"")).value == b""


def test_the_first_byte_says_the_format_in_its_upper_half() -> None:
    assert encode_row(0, 0, None, b"x")[0] >> 4 == ROW_FORMAT
    assert encode_row(0, 0, (("a", b"b"),), b"x")[0] >> 4 == ROW_FORMAT


@given(st.lists(st.tuples(OFFSETS, TIMESTAMPS, st.binary(max_size=50)), max_size=40))
def test_many_plain_rows_equal_those_packed_one_by_one(
    records: list[tuple[int, int, bytes]],
) -> None:
    offsets = np.array([offset for offset, _, _ in records], np.int64)
    timestamps = np.array([timestamp_ms for _, timestamp_ms, _ in records], np.int64)
    expected = [encode_row(offset, time_ms, None, value) for offset, time_ms, value in records]
    assert plain_rows(offsets, timestamps, [value for _, _, value in records]) == expected
