from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.codecs import (
    CODEC_NAMES,
    KeyCodec,
    TypedCodec,
    ValueCodec,
    WholeKey,
    codec,
    key_codec,
    prefix_bounds,
)
from lastword.errors import ConfigError, DecodeError, EncodeError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip
INT64 = st.integers(-(2**63), 2**63 - 1)


class User(msgspec.Struct):
    name: str
    age: int = 0


@given(st.text())
def test_string_round_trips_and_is_utf_8(text: str) -> None:
    assert codec("string").encode(text) == text.encode()
    assert codec("string").decode(text.encode()) == text


@given(st.text(), st.text())
def test_string_bytes_sort_as_the_texts_do(a: str, b: str) -> None:
    assert (a < b) == (key_codec("string").encode(a) < key_codec("string").encode(b))


@given(JSON)
def test_json_round_trips(value: Any) -> None:
    assert codec("json").decode(codec("json").encode(value)) == value


@given(st.binary() | JSON.map(lambda v: msgspec.msgpack.encode(str(v))))
def test_msgpack_round_trips(value: Any) -> None:
    assert codec("msgpack").decode(codec("msgpack").encode(value)) == value


@given(INT64)
def test_int64_is_eight_bytes_big_endian_as_in_java(number: int) -> None:
    raw = codec("int64").encode(number)
    assert raw == number.to_bytes(8, "big", signed=True)
    assert codec("int64").decode(raw) == number


def test_bytes_pass_unchanged_and_a_bytearray_is_copied() -> None:
    mutable = bytearray(b"abc")
    raw = codec("bytes").encode(mutable)
    mutable[0] = 0
    assert raw == b"abc"
    assert codec("bytes").decode(b"\x00\xff") == b"\x00\xff"


def test_json_null_is_four_bytes_and_not_a_tombstone() -> None:
    assert codec("json").encode(None) == b"null"
    assert codec("json").decode(b"null") is None


def test_json_values_keep_the_order_of_their_members() -> None:
    assert codec("json").encode({"b": 1, "a": 2}) == b'{"b":1,"a":2}'


@pytest.mark.parametrize("name", ["json", "msgpack"])
def test_equal_keys_have_equal_bytes_for_any_order_of_members(name: str) -> None:
    assert key_codec(name).encode({"b": 1, "a": 2}) == key_codec(name).encode({"a": 2, "b": 1})


@pytest.mark.parametrize("name", [*CODEC_NAMES, "typed"])
@given(data=st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused_with_a_decode_error(name: str, data: bytes) -> None:
    subject = codec(User if name == "typed" else name)
    try:
        subject.decode(data)
    except DecodeError as error:
        assert error.reason
        assert error.hint


@pytest.mark.parametrize("opening", [b"[", b"\x91"])
def test_a_document_nested_too_deeply_is_refused(opening: bytes) -> None:
    subject = codec("json" if opening == b"[" else "msgpack")
    with pytest.raises(DecodeError, match="recursion"):
        subject.decode(opening * 100_000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("string", b"bytes"),
        ("string", None),
        ("string", "\ud800"),
        ("bytes", "text"),
        ("bytes", None),
        ("int64", 2**63),
        ("int64", 1.5),
        ("int64", None),
        ("json", object()),
        ("json", "\ud800"),
        ("msgpack", 2**64),
        ("msgpack", {"a": object()}),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_an_encode_error(name: str, value: Any) -> None:
    with pytest.raises(EncodeError):
        codec(name).encode(value)


@pytest.mark.parametrize("data", [b"", b"\x00" * 7, b"\x00" * 9])
def test_int64_of_another_length_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match=f"8 bytes, not {len(data)}"):
        codec("int64").decode(data)


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_a_typed_value_round_trips(format: Any) -> None:
    subject = TypedCodec(format, User)
    assert subject.decode(subject.encode(User("Alice", 25))) == User("Alice", 25)
    assert subject.name == f"{format}[User]"


def test_a_document_that_does_not_fit_its_type_names_the_field() -> None:
    with pytest.raises(DecodeError, match=r"does not fit User: .*\$\.age") as caught:
        codec(User).decode(b'{"name": "Alice", "age": "old"}')
    assert caught.value.hint


def test_a_missing_field_is_named_and_a_default_fills_in() -> None:
    assert codec(User).decode(b'{"name": "Bob"}') == User("Bob", 0)
    with pytest.raises(DecodeError, match="missing required field `name`"):
        codec(User).decode(b"{}")


def test_a_struct_with_a_wrong_field_is_refused_before_it_is_written() -> None:
    wrong: Any = "old"
    with pytest.raises(EncodeError, match=r"not a valid User: .*\$\.age"):
        codec(User).encode(User("Alice", wrong))


@pytest.mark.parametrize("value", [None, {"name": "Alice"}])
def test_a_typed_codec_takes_its_type_only(value: Any) -> None:
    with pytest.raises(EncodeError, match="takes User"):
        codec(User).encode(value)


def test_names_resolve_to_the_same_codec_each_time() -> None:
    for name in CODEC_NAMES:
        assert codec(name).name == name
        assert codec(name) is codec(name)


def test_a_codec_of_ones_own_is_taken_as_it_is() -> None:
    class Reversed(WholeKey):
        name = "reversed"

        def encode(self, value: bytes) -> bytes:
            return value[::-1]

        def decode(self, data: bytes) -> bytes:
            return data[::-1]

    own = Reversed()
    assert codec(own) is own
    assert key_codec(own) is own


def test_a_value_codec_is_refused_for_keys_with_the_way_out() -> None:
    class ValueOnly(ValueCodec):
        name = "value-only"

        def encode(self, value: bytes) -> bytes:
            return value

        def decode(self, data: bytes) -> bytes:
            return data

    assert codec(ValueOnly()).name == "value-only"
    with pytest.raises(ConfigError, match="cannot be used for keys") as caught:
        key_codec(ValueOnly())
    assert "WholeKey" in str(caught.value.hint)


@pytest.mark.parametrize("spec", ["jsn", "", int, WholeKey, 7, None])
def test_an_unknown_codec_is_refused_with_the_valid_names(spec: Any) -> None:
    for resolve in (codec, key_codec):
        with pytest.raises(ConfigError, match="is not a codec") as caught:
            resolve(spec)
        assert "string, bytes, int64, json, msgpack" in str(caught.value.hint)


def test_an_unknown_typed_format_is_refused() -> None:
    unknown: Any = "avro"
    with pytest.raises(ConfigError, match="avro"):
        TypedCodec(unknown, User)


def test_every_named_codec_is_a_key_codec_whose_every_byte_counts() -> None:
    for name in CODEC_NAMES:
        assert isinstance(key_codec(name), KeyCodec)
        assert key_codec(name).suffix_bytes == 0


def test_string_and_bytes_keys_have_prefixes() -> None:
    assert key_codec("string").prefix("eu:") == b"eu:"
    assert key_codec("bytes").prefix(b"\x00") == b"\x00"


@pytest.mark.parametrize("name", ["json", "msgpack", "int64"])
def test_keys_without_a_meaningful_beginning_refuse_a_prefix(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be searched by the prefix"):
        key_codec(name).prefix("eu")


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_prefix_bounds_hold_exactly_the_keys_that_begin_so(prefix: bytes, key: bytes) -> None:
    start, end = prefix_bounds(prefix)
    assert (start <= key and (end is None or key < end)) == key.startswith(prefix)


@given(st.integers(0, 3), st.binary(max_size=4))
def test_prefix_bounds_of_ff_bytes_hold_exactly_the_keys_that_begin_so(n: int, key: bytes) -> None:
    for prefix in (b"\xff" * n, b"a" + b"\xff" * n):
        start, end = prefix_bounds(prefix)
        for candidate in (key, prefix + key):
            inside = start <= candidate and (end is None or candidate < end)
            assert inside == candidate.startswith(prefix)
