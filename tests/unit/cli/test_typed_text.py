"""What people type: values under a codec, input lines, sizes, headers."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.commands.data.put import LineParser
from lastword.cli.support.sizes import SIZE, as_duration, as_size
from lastword.cli.support.table_options import TableSpec
from lastword.codecs.windowed import SessionKey, WindowedKey
from lastword.errors import ConfigError, EncodeError


def spec(**given: Any) -> TableSpec:
    known: dict[str, Any] = {"key": "string", "value": "json", "store": "memory"} | given
    return TableSpec("t", "t", on_bad="fail", allow_expiry=False, **known)


@pytest.mark.parametrize(
    ("text", "codec_name", "key"),
    [
        ("42", "string", "42"),
        ("42", "bytes", b"42"),
        ("\udcff", "bytes", b"\xff"),
        ("42", "int64", 42),
        ("42", "json", 42),
        ('{"a": [1, null]}', "json", {"a": [1, None]}),
        ('"text"', "msgpack", "text"),
    ],
)
def test_text_means_what_the_codec_makes_of_it(text: str, codec_name: str, key: Any) -> None:
    assert spec(key=codec_name).parse_key(text) == key
    assert spec(key=codec_name).parse_prefix(text) == key


def test_a_key_of_a_window_is_typed_with_its_times() -> None:
    assert spec(window="60000").parse_key("a@b@120000") == WindowedKey("a@b", 120_000)
    assert spec(window="session").parse_key("a@1-2") == SessionKey("a", 1, 2)
    assert spec(window="60000").parse_prefix("a@") == "a@"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("nope", {"key": "json"}),
        ("4.2", {"key": "int64"}),
        ("alice", {"window": "60000"}),
        ("alice@1-2", {"window": "60000"}),
        ("alice@1", {"window": "session"}),
    ],
)
def test_text_that_does_not_fit_the_codec_is_refused(text: str, given: dict[str, Any]) -> None:
    with pytest.raises(EncodeError) as caught:
        spec(**given).parse_key(text)
    assert caught.value.hint


def test_a_line_is_split_at_the_first_separator() -> None:
    assert LineParser(":", None)('user-1:{"a": 1}') == ("user-1", '{"a": 1}')
    assert LineParser(" => ", None)("eu:1 => x") == ("eu:1", "x")


def test_an_empty_value_is_not_a_tombstone_and_the_marker_is() -> None:
    parse = LineParser(":", "NULL")
    assert parse("user-5:") == ("user-5", "")
    assert parse("user-5:NULL") == ("user-5", None)
    assert LineParser(":", None)("user-5:NULL") == ("user-5", "NULL")


@pytest.mark.parametrize("line", ["no separator", ":no key"])
def test_a_line_without_a_key_is_refused(line: str) -> None:
    with pytest.raises(ConfigError):
        LineParser(":", None)(line)


@pytest.mark.parametrize(
    ("text", "size"), [("512", 512), ("100MB", 10**8), ("1GiB", 2**30), ("1.5 kib", 1536)]
)
def test_a_size_may_have_a_unit(text: str, size: int) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "many", "1 parsec", "-1", "1e3"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        SIZE.convert(text, None, None)


@given(st.integers(min_value=0, max_value=2**60))
def test_a_size_is_shown_close_to_what_it_is(size: int) -> None:
    assert SIZE.convert(as_size(size), None, None) == pytest.approx(size, rel=0.01)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.01, "10 ms"),
        (4.0, "4 s"),
        (512.0, "8 min 32 s"),
        (7200.0, "2 h 0 min"),
        (1e6, "11 d 13 h"),
    ],
)
def test_a_duration_is_shown_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert as_duration(seconds) == text
