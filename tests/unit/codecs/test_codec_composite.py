from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastword.codecs import KeyCodec, StartsWith, composite, key_codec, prefix_bounds
from lastword.errors import ConfigError, DecodeError, EncodeError

# Mostly the characters on both sides of every special one, and the ends of UTF-8's lengths.
FIELD = st.text(
    st.sampled_from('\x00\x1f !"-/019:;<=Aaz\x7f\x80߿ࠀ\ue000\uffff\U00010000\U0010ffff'),
    max_size=5,
) | st.text(max_size=5)
PAIR = st.tuples(FIELD, FIELD)
TRIPLE = st.tuples(FIELD, FIELD, FIELD)

PAIRS = composite("region", "userId")
TRIPLES = composite("region", "tenant", "userId")


def in_bounds(raw: bytes, raw_prefix: bytes) -> bool:
    start, end = prefix_bounds(raw_prefix)
    return start <= raw and (end is None or raw < end)


@given(TRIPLE)
def test_every_key_round_trips(key: tuple[str, str, str]) -> None:
    assert TRIPLES.decode(TRIPLES.encode(key)) == key


@given(PAIR, PAIR)
@example(("eu", "x"), ("eu-west-1", "x"))
@example(("eu", "x"), ("eu1", "x"))
@example(("eu", "~"), ("eu ", ""))
@example(("eu-", "~"), ("eu- ", ""))
@example(("eu-", "~"), ("eu-!", ""))
@example(("eu!", "~"), ("eu\x00", ""))
@example(("", "~"), ("\x00", ""))
@example(("", ""), ("", "a"))
def test_the_bytes_sort_as_the_tuples_do(a: tuple[str, str], b: tuple[str, str]) -> None:
    assert (a < b) == (PAIRS.encode(a) < PAIRS.encode(b))
    assert (a == b) == (PAIRS.encode(a) == PAIRS.encode(b))


@given(TRIPLE, TRIPLE, st.integers(0, 3))
def test_the_bytes_of_keys_with_a_common_prefix_sort_too(
    a: tuple[str, str, str], b: tuple[str, str, str], shared: int
) -> None:
    b = (*a[:shared], *b[shared:])  # type: ignore[assignment]
    assert (a < b) == (TRIPLES.encode(a) < TRIPLES.encode(b))


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        (("eu", "user-1"), b"eu:user-1"),
        (("eu", "a:b;c d"), b"eu:a:b;c d"),
        (("", ""), b":"),
        (("São_Paulo", "user 1!"), "São_Paulo:user 1!".encode()),
        (("eu-west-1", "user-1"), b"eu;-west-1 :user-1"),
        (("a:b", "c"), b"a;:b :c"),
        (("a;b", "c"), b"a;;b :c"),
        (("a b!", "c"), b"a;! b!! :c"),
        (("42", "c"), b";42 :c"),
    ],
)
def test_keys_are_written_as_documented(key: tuple[str, str], raw: bytes) -> None:
    assert PAIRS.encode(key) == raw
    assert PAIRS.decode(raw) == key


@given(st.binary(max_size=12) | PAIR.map(":".join).map(str.encode))
def test_only_bytes_that_encode_writes_are_read(data: bytes) -> None:
    try:
        key = PAIRS.decode(data)
    except DecodeError:
        return
    assert PAIRS.encode(key) == data


@pytest.mark.parametrize(
    "data", [b"eu-west-1:user-1", b"eu", b"", b"a; :b", b"a;x :b", b"a;1:b", b"a;1!x :b", b"\xff:a"]
)
def test_keys_of_other_writers_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        PAIRS.decode(data)


def test_a_key_comes_back_with_its_field_names() -> None:
    key = PAIRS.decode(b"eu:user-1")
    assert (key.region, key.userId) == ("eu", "user-1")


@given(TRIPLE, FIELD)
@example(("eu", "a", "b"), "eu")
@example(("europe", "a", "b"), "eu")
@example(("eu-1", "a", "b"), "eu")
def test_a_prefix_is_exactly_the_keys_with_that_first_field(
    key: tuple[str, str, str], first: str
) -> None:
    assert in_bounds(TRIPLES.encode(key), TRIPLES.prefix(first)) == (key[0] == first)
    assert in_bounds(TRIPLES.encode(key), TRIPLES.prefix((first,))) == (key[0] == first)
    assert in_bounds(TRIPLES.encode((first, *key[1:])), TRIPLES.prefix(first))


@given(TRIPLE, FIELD, st.booleans())
def test_a_prefix_of_two_fields_is_exactly_the_keys_with_both(
    key: tuple[str, str, str], second: str, same: bool
) -> None:
    second = key[1] if same else second
    raw_prefix = TRIPLES.prefix((key[0], second))
    assert in_bounds(TRIPLES.encode(key), raw_prefix) == (key[1] == second)


@given(TRIPLE, st.integers(0, 2), FIELD, st.booleans())
@example(("eu-west", "", ""), 0, "eu-w", False)
@example(("eu", "", ""), 0, "eu", False)
def test_starts_with_looks_inside_any_field(
    key: tuple[str, str, str], at: int, text: str, begins_so: bool
) -> None:
    if begins_so:
        key = (*key[:at], text + key[at], *key[at + 1 :])  # type: ignore[assignment]
    raw_prefix = TRIPLES.prefix((*key[:at], StartsWith(text)))
    assert in_bounds(TRIPLES.encode(key), raw_prefix) == key[at].startswith(text)


def test_starts_with_nothing_is_every_key() -> None:
    assert prefix_bounds(PAIRS.prefix(StartsWith(""))) == (b"", None)


@pytest.mark.parametrize("value", [(), ("a", "b", "c"), ("a", "b")])
def test_too_few_or_too_many_fields_are_not_a_prefix(value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        PAIRS.prefix(value)
    assert caught.value.hint


@pytest.mark.parametrize("value", [5, None, b"eu", (StartsWith("a"), "b"), ("a", 5)])
def test_a_prefix_of_something_else_than_texts_is_refused(value: Any) -> None:
    with pytest.raises(EncodeError, match="not the fields of a composite key"):
        TRIPLES.prefix(value)


def test_starts_with_takes_text_only() -> None:
    number: Any = 5
    with pytest.raises(ConfigError, match="cannot start with 5"):
        StartsWith(number)


@pytest.mark.parametrize(
    "value", ["eu:user-1", ("eu",), ("eu", "a", "b"), ("eu", 5), (5, "a"), ("eu", None), None]
)
def test_a_key_that_is_not_a_tuple_of_texts_is_refused(value: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        PAIRS.encode(value)
    assert caught.value.hint


@pytest.mark.parametrize("value", [("\ud800", "a"), ("a", "\ud800")])
def test_text_that_utf_8_cannot_hold_is_refused(value: tuple[str, str]) -> None:
    with pytest.raises(EncodeError):
        PAIRS.encode(value)


@pytest.mark.parametrize("fields", [(), ("one",), ("a", "a"), ("a", "not a name"), ("_a", "b")])
def test_bad_field_names_are_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        composite(*fields)


def test_it_is_a_key_codec_whose_every_byte_decides_the_partition() -> None:
    assert isinstance(PAIRS, KeyCodec)
    assert key_codec(PAIRS) is PAIRS
    assert PAIRS.suffix_bytes == 0
    assert PAIRS.name == "composite(region, userId)"
