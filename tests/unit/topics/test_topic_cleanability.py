"""The arithmetic of Kafka's LogCleanerManager, redone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.topics.cleanability import Cleanability, cleanability
from lastword.topics.partition_files import PartitionFiles, TimedSegment

NOW_MS = 1_000_000
SETTINGS = {
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "9223372036854775807",
}


def log(*sizes: int, cleaned_until: int | None = None) -> PartitionFiles:
    """Segments of ten offsets each, a second apart; the last one is active."""
    segments = tuple(
        TimedSegment(
            10 * n, size, NOW_MS - 1000 * (len(sizes) - n), NOW_MS - 1000 * (len(sizes) - n)
        )
        for n, size in enumerate(sizes)
    )
    return PartitionFiles(segments, cleaned_until)


def judge(files: PartitionFiles, *, stable_end: int | None = None, **settings: str) -> Cleanability:
    log_end = files.active.base_offset + 5
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return cleanability(
        files,
        SETTINGS | named,
        log_start=0,
        log_end=log_end,
        stable_end=log_end if stable_end is None else stable_end,
        now_ms=NOW_MS,
    )


def test_a_log_of_one_segment_has_nothing_that_may_be_cleaned() -> None:
    found = judge(log(100))
    assert (found.cleanable_bytes, found.uncleanable_bytes, found.due) == (0, 100, False)
    assert found.limit == "active segment"


def test_a_log_that_was_never_cleaned_is_all_dirty_but_for_its_active_segment() -> None:
    found = judge(log(100, 200, 50))
    assert (found.clean_bytes, found.cleanable_bytes, found.uncleanable_bytes) == (0, 300, 50)
    assert (found.dirty_ratio, found.due) == (1.0, True)


def test_the_ratio_must_be_exceeded_and_not_only_reached() -> None:
    files = log(100, 100, 50, cleaned_until=10)
    assert judge(files).dirty_ratio == 0.5
    assert not judge(files).due
    assert judge(files, min_cleanable_dirty_ratio="0.49").due


def test_a_checkpoint_outside_the_log_means_starting_over() -> None:
    assert judge(log(100, 100, 50, cleaned_until=999)).first_dirty_offset == 0


def test_an_open_transaction_keeps_the_cleaner_out_of_its_whole_segment() -> None:
    found = judge(log(100, 200, 400, 50), stable_end=15)
    assert (found.limit, found.first_uncleanable_offset) == ("open transaction", 10)
    assert (found.cleanable_bytes, found.uncleanable_bytes) == (100, 650)


def test_young_segments_must_stay_and_everything_behind_them() -> None:
    found = judge(log(100, 200, 400, 50), min_compaction_lag_ms="2500")
    assert (found.limit, found.first_uncleanable_offset) == ("min.compaction.lag.ms", 20)
    assert found.cleanable_bytes == 300


def test_waiting_too_long_forces_a_clean_at_any_ratio() -> None:
    files = log(1000, 1, 50, cleaned_until=10)
    assert not judge(files).due
    forced = judge(files, max_compaction_lag_ms="1500")
    assert (forced.forced, forced.due) == (True, True)
    assert not judge(files, max_compaction_lag_ms="2500").due


def test_a_clean_log_is_not_forced() -> None:
    found = judge(log(100, 100, 50, cleaned_until=20), max_compaction_lag_ms="0")
    assert (found.cleanable_bytes, found.forced, found.due) == (0, False, False)


@given(
    sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=8),
    cleaned=st.none() | st.integers(0, 80),
    stable=st.integers(0, 80),
    lag_ms=st.integers(0, 9000),
)
def test_clean_and_uncleanable_bytes_never_exceed_the_log(
    sizes: list[int], cleaned: int | None, stable: int, lag_ms: int
) -> None:
    files = log(*sizes, cleaned_until=cleaned)
    found = judge(
        files,
        stable_end=min(stable, files.active.base_offset + 5),
        min_compaction_lag_ms=str(lag_ms),
    )
    assert found.cleanable_bytes + found.uncleanable_bytes <= sum(sizes)
    assert 0.0 <= found.dirty_ratio <= 1.0
    assert found.first_uncleanable_offset <= files.active.base_offset
    assert found.due == (found.dirty_ratio > 0.5)
    if found.limit == "active segment":
        assert found.first_uncleanable_offset == files.active.base_offset


@pytest.mark.parametrize("limit_ms", ["0", "100"])
def test_the_active_segment_is_never_cleanable(limit_ms: str) -> None:
    found = judge(log(10, 99), max_compaction_lag_ms=limit_ms)
    assert found.uncleanable_bytes == 99
