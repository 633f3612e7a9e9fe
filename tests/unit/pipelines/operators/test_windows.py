"""Windows, with the numbers of the patient-monitoring example: 60 s with 5 s of grace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import ConfigError
from lastword.pipelines.api.windows import DEFAULT_RETENTION_MS, hopping, retention_of, tumbling

MINUTE_MS = 60_000


def test_a_tumbling_window_covers_its_start_but_not_its_end() -> None:
    windows = tumbling("60s")
    assert list(windows.starts(MINUTE_MS - 1)) == [0]
    assert list(windows.starts(MINUTE_MS)) == [MINUTE_MS]


def test_a_window_stays_open_for_its_grace_and_closes_with_it() -> None:
    windows = tumbling("60s", grace="5s")
    assert windows.closes_at_ms(b"patient" + bytes(8)) == MINUTE_MS + 5_000


def test_hopping_windows_overlap_and_none_starts_before_the_epoch() -> None:
    windows = hopping("60s", "20s")
    assert list(windows.starts(125_000)) == [80_000, 100_000, 120_000]
    assert list(windows.starts(10_000)) == [0]


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 1_000))
def test_a_record_is_in_exactly_the_windows_that_cover_its_time(
    size_ms: int, advance_ms: int, timestamp_ms: int
) -> None:
    windows = hopping(max(size_ms, advance_ms), advance_ms)
    every = range(0, timestamp_ms + 1, advance_ms)
    covering = [start for start in every if timestamp_ms < start + windows.size_ms]
    assert list(windows.starts(timestamp_ms)) == covering


def test_a_window_without_length_or_with_gaps_is_refused() -> None:
    with pytest.raises(ConfigError, match="zero"):
        tumbling(0)
    with pytest.raises(ConfigError, match="gaps"):
        hopping("10s", "11s")


def test_retention_is_window_and_grace_at_least() -> None:
    windows = tumbling("60s", grace="5s")
    assert retention_of(windows, None) == DEFAULT_RETENTION_MS
    assert retention_of(windows, "6h") == 21_600_000
    assert retention_of(windows, "65s") == 65_000
    with pytest.raises(ConfigError, match="less than window and grace"):
        retention_of(windows, 64_999)
    assert retention_of(tumbling("2d"), None) == 2 * DEFAULT_RETENTION_MS
