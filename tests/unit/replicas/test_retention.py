"""When a store that was behind may have missed a delete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.replicas.sweep.retention import (
    LIVE_FLOOR_MS,
    live_lag_too_long,
    may_have_missed_deletes,
    safe_window_ms,
)

DAY_MS = 86_400_000


def test_a_long_retention_is_trusted_up_to_a_minute_before_its_end() -> None:
    assert safe_window_ms(DAY_MS) == DAY_MS - 60_000


def test_a_short_retention_is_trusted_for_nine_tenths() -> None:
    assert safe_window_ms(10_000) == 9_000


def test_an_absence_up_to_the_window_missed_nothing_and_from_there_on_may_have() -> None:
    assert not may_have_missed_deletes(8_999, 10_000)
    assert may_have_missed_deletes(9_000, 10_000)


def test_without_any_retention_no_absence_is_safe() -> None:
    assert may_have_missed_deletes(0, 0)


def test_a_clock_that_was_set_back_proves_nothing() -> None:
    assert may_have_missed_deletes(-LIVE_FLOOR_MS - 1, DAY_MS)


def test_a_clock_that_was_corrected_by_a_moment_is_believed() -> None:
    assert not may_have_missed_deletes(-LIVE_FLOOR_MS, DAY_MS)


def test_a_live_table_tolerates_the_lag_of_a_few_topic_states_at_any_retention() -> None:
    assert not live_lag_too_long(2_000, 100)
    assert live_lag_too_long(LIVE_FLOOR_MS, 100)


def test_a_longer_retention_decides_for_a_live_table() -> None:
    assert not live_lag_too_long(8_999, 10_000)
    assert live_lag_too_long(9_000, 10_000)


@given(st.integers(0, 10 * DAY_MS), st.integers(0, 10 * DAY_MS))
def test_no_absence_as_long_as_the_retention_ever_passes(behind_ms: int, retention_ms: int) -> None:
    if behind_ms >= retention_ms:
        assert may_have_missed_deletes(behind_ms, retention_ms)


@given(st.integers(0, DAY_MS), st.integers(0, DAY_MS), st.integers(0, DAY_MS))
def test_a_longer_retention_never_makes_a_store_less_sound(
    behind_ms: int, shorter_ms: int, more_ms: int
) -> None:
    if not may_have_missed_deletes(behind_ms, shorter_ms):
        assert not may_have_missed_deletes(behind_ms, shorter_ms + more_ms)
