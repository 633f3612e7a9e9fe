"""What people type: values under a codec, input lines, sizes, headers."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.commands.put import LineParser
from lastword.cli.support.literals import parse_literal
from lastword.cli.support.sizes import SIZE, as_duration, as_size
from lastword.codecs.resolve import CODEC_NAMES, codec
from lastword.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "codec_name", "value"),
    [
        ("42", "string", "42"),
        ("42", "bytes", b"42"),
        ("42", "int64", 42),
        ("42", "json", 42),
        ('{"a": [1, null]}', "json", {"a": [1, None]}),
        ('"text"', "msgpack", "text"),
        ("null", "json", None),
    ],
)
def test_text_means_what_the_codec_makes_of_it(text: str, codec_name: str, value: Any) -> None:
    assert parse_literal(text, codec_name) == value


@pytest.mark.parametrize("codec_name", CODEC_NAMES)
def test_every_codec_takes_what_was_typed_for_it(codec_name: str) -> None:
    value = parse_literal("42", codec_name)
    assert codec(codec_name).decode(codec(codec_name).encode(value)) == value


@pytest.mark.parametrize(("text", "codec_name"), [("nope", "json"), ("4.2", "int64")])
def test_text_that_does_not_fit_the_codec_is_refused(text: str, codec_name: str) -> None:
    with pytest.raises(ConfigError, match=codec_name):
        parse_literal(text, codec_name)


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
def test_what_is_no_size_is_refused(text: str) -> None:
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
