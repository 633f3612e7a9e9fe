from __future__ import annotations

import pytest

from lastword.errors import ConfigError
from lastword.expiry import expires_at_in, expires_header, names_expiry, ttl_ms_of, with_expiry
from lastword.records import EXPIRES_HEADER

AT_MS = 1_700_000_000_000


def test_the_header_of_a_time_to_live_names_the_moment_at_which_it_ends() -> None:
    headers = with_expiry((("trace", b"1"),), ttl_ms_of("1h"), AT_MS)
    assert headers == (("trace", b"1"), (EXPIRES_HEADER, b"1700003600000"))
    assert expires_at_in(headers) == AT_MS + 3_600_000


def test_headers_that_name_no_expiry_mean_none() -> None:
    assert expires_at_in((("trace", b"1"), ("", None))) is None
    assert not names_expiry((("trace", b"1"), ("", None)))


def test_the_last_of_several_expiries_counts() -> None:
    headers = (expires_header(AT_MS), ("a", b"b"), expires_header(AT_MS + 1))
    assert expires_at_in(headers) == AT_MS + 1
    assert expires_at_in((expires_header(AT_MS), (EXPIRES_HEADER, b"soon"))) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"0",
        b"-1",
        b"-1700000000000",
        b"3600000",  # a duration
        b"1700000000",  # seconds
        b"17000000000000",  # microseconds, nearly
        b"9" * 400,
        b"1.7e12",
        b"soon",
        b"\xff\xfe",
    ],
)
def test_an_expiry_that_makes_no_sense_means_none(value: bytes | None) -> None:
    headers = ((EXPIRES_HEADER, value),)
    assert expires_at_in(headers) is None
    assert names_expiry(headers)


@pytest.mark.parametrize("ttl", [0, "0s", -5, "101y", 200 * 365 * 86_400_000])
def test_a_time_to_live_is_longer_than_nothing_and_shorter_than_a_century(ttl: str | int) -> None:
    with pytest.raises(ConfigError):
        ttl_ms_of(ttl)
