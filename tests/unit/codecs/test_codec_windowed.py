from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.codecs import (
    KeyCodec,
    SessionKey,
    WindowedKey,
    composite,
    key_codec,
    prefix_bounds,
    session,
    windowed,
)
from lastword.errors import ConfigError, DecodeError, EncodeError

TIME = st.integers(0, 2**63 - 1)
WINDOWS = windowed("string", 60_000)
SESSIONS = session("string")


def test_a_windowed_key_has_the_bytes_of_kafkas_time_windowed_serializer() -> None:
    raw = WINDOWS.encode(WindowedKey("patient-1", 1_700_000_040_000))
    assert raw == b"patient-1" + (1_700_000_040_000).to_bytes(8, "big")


def test_a_session_key_has_the_bytes_of_kafkas_session_windowed_serializer() -> None:
    raw = SESSIONS.encode(SessionKey("patient-1", start_ms=5, end_ms=9))
    assert raw == b"patient-1" + (9).to_bytes(8, "big") + (5).to_bytes(8, "big")


@given(st.text(), TIME)
def test_windowed_keys_round_trip(key: str, start_ms: int) -> None:
    assert WINDOWS.decode(WINDOWS.encode(WindowedKey(key, start_ms))) == (key, start_ms)


@given(st.text(), st.tuples(TIME, TIME).map(sorted))
def test_session_keys_round_trip(key: str, times: list[int]) -> None:
    session_key = SessionKey(key, *times)
    assert SESSIONS.decode(SESSIONS.encode(session_key)) == session_key


def test_the_end_of_a_window_is_its_start_and_its_size() -> None:
    assert WINDOWS.end_ms(WindowedKey("a", 120_000)) == 180_000


def test_the_inner_key_may_be_of_any_kind() -> None:
    longs = windowed("int64", 1000)
    assert longs.decode(longs.encode(WindowedKey(-7, 3000))) == WindowedKey(-7, 3000)
    pairs = session(composite("region", "userId"))
    key = SessionKey(("eu", "user-1"), 1, 2)
    assert pairs.decode(pairs.encode(key)) == key
    assert pairs.name == "session(composite(region, userId))"


def test_the_times_have_no_say_in_the_partition() -> None:
    assert WINDOWS.suffix_bytes == 8
    assert SESSIONS.suffix_bytes == 16
    for subject in (WINDOWS, SESSIONS):
        assert isinstance(subject, KeyCodec)
        assert key_codec(subject) is subject


KEYS = st.text("a\x00\x7fb", max_size=4) | st.text(max_size=9)


@given(KEYS, KEYS, TIME, st.tuples(TIME, st.none() | TIME))
def test_time_bounds_hold_exactly_the_windows_of_the_key_that_start_there(
    key: str, other: str, start_ms: int, times: tuple[int, int | None]
) -> None:
    from_ms, until_ms = times
    first, end = WINDOWS.time_bounds(key, from_ms, until_ms)
    for candidate in (key, other):
        raw = WINDOWS.encode(WindowedKey(candidate, start_ms))
        found = first <= raw < end and len(raw) == len(first)
        in_time = from_ms <= start_ms and (until_ms is None or start_ms < until_ms)
        assert found == (candidate == key and in_time)


@given(KEYS, KEYS, st.tuples(TIME, TIME).map(sorted), st.tuples(TIME, st.none() | TIME))
def test_time_bounds_hold_exactly_the_sessions_of_the_key_that_end_there(
    key: str, other: str, session_times: list[int], times: tuple[int, int | None]
) -> None:
    from_ms, until_ms = times
    first, end = SESSIONS.time_bounds(key, from_ms, until_ms)
    for candidate in (key, other):
        raw = SESSIONS.encode(SessionKey(candidate, *session_times))
        found = first <= raw < end and len(raw) == len(first)
        in_time = from_ms <= session_times[1] and (until_ms is None or session_times[1] < until_ms)
        assert found == (candidate == key and in_time)


def test_a_prefix_finds_every_window_of_the_keys_that_begin_so() -> None:
    start, end = prefix_bounds(WINDOWS.prefix("patient-"))
    assert end is not None
    assert start <= WINDOWS.encode(WindowedKey("patient-1", 5)) < end
    assert not start <= WINDOWS.encode(WindowedKey("doctor-1", 5)) < end
    assert SESSIONS.prefix("patient-") == b"patient-"


@pytest.mark.parametrize("value", ["a", ("a", 5), None, SessionKey("a", 1, 2)])
def test_only_windowed_keys_are_encoded(value: Any) -> None:
    with pytest.raises(EncodeError, match="takes WindowedKey"):
        WINDOWS.encode(value)


@pytest.mark.parametrize("value", ["a", ("a", 5, 6), None, WindowedKey("a", 1)])
def test_only_session_keys_are_encoded(value: Any) -> None:
    with pytest.raises(EncodeError, match="takes SessionKey"):
        SESSIONS.encode(value)


@pytest.mark.parametrize("start_ms", [-1, 2**63, 1.5, None])
def test_an_invalid_start_time_is_refused(start_ms: Any) -> None:
    with pytest.raises(EncodeError, match="not the time of a window"):
        WINDOWS.encode(WindowedKey("a", start_ms))


def test_a_session_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(EncodeError, match="ends before it starts"):
        SESSIONS.encode(SessionKey("a", 2, 1))


@pytest.mark.parametrize("data", [b"", b"short", b"user-1" + b"\x80" + bytes(7)])
def test_bytes_without_the_times_of_a_window_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="not a windowed"):
        WINDOWS.decode(data)


@pytest.mark.parametrize("data", [b"", b"user-1" + bytes(8), b"\x80" + bytes(15)])
def test_bytes_without_the_times_of_a_session_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="not a session"):
        SESSIONS.decode(data)


def test_a_windowed_key_cannot_be_windowed_again() -> None:
    with pytest.raises(ConfigError, match="already windowed"):
        windowed(SESSIONS, 1000)
    with pytest.raises(ConfigError, match="already windowed"):
        session(WINDOWS)


@pytest.mark.parametrize("size_ms", [0, -1])
def test_a_window_without_length_is_refused(size_ms: int) -> None:
    with pytest.raises(ConfigError, match="is too short"):
        windowed("string", size_ms)
