from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import ConfigError
from lastword.topics.estimates import (
    GIB,
    MIB,
    estimate_bloom,
    estimate_compaction,
    estimate_restore,
)


def test_a_hundred_gigabytes_half_dirty_take_eight_and_a_half_minutes_at_100_mb_a_second() -> None:
    estimate = estimate_compaction(100 * GIB, 0.5, 100 * MIB)
    assert estimate.dirty_bytes == 50 * GIB
    assert estimate.seconds == 512
    assert estimate.recommended_dirty_ratio == 0.3


def test_one_pass_reads_the_dirty_part_for_its_keys_and_copies_the_whole_log() -> None:
    estimate = estimate_compaction(100 * GIB, 0.5, 100 * MIB, keys=1_000_000)
    assert estimate.passes == 1
    assert estimate.io_bytes == 50 * GIB + 2 * 100 * GIB
    assert estimate.io_seconds == 2560


def test_two_passes_copy_the_clean_part_twice() -> None:
    estimate = estimate_compaction(
        1_000_000, 0.5, MIB, record_bytes=100, dedupe_buffer_bytes=24 * 5000
    )
    assert (estimate.dirty_keys, estimate.passes) == (5000, 2)
    # 500 k for the keys; then 500 k clean and 250 k dirty, then all of it, read and written.
    assert estimate.io_bytes == 500_000 + 2 * 750_000 + 2 * 1_000_000


def test_kafkas_default_buffer_holds_five_million_keys() -> None:
    def passes(keys: int) -> int:
        return estimate_compaction(100 * GIB, 0.5, MIB, keys=keys).passes

    assert passes(5_033_164) == 1
    assert passes(5_033_165) == 2
    assert estimate_compaction(100 * GIB, 0.5, MIB, keys=5_033_164).fits_in_one_pass
    assert not estimate_compaction(100 * GIB, 0.5, MIB, keys=5_033_165).fits_in_one_pass


def test_the_buffer_that_is_needed_is_enough_and_one_entry_less_is_not() -> None:
    def with_buffer(buffer: int) -> Any:
        return estimate_compaction(100 * GIB, 0.5, MIB, keys=9_000_000, dedupe_buffer_bytes=buffer)

    needed = with_buffer(128 * MIB).dedupe_buffer_needed
    assert needed == 240_000_000
    assert with_buffer(needed).fits_in_one_pass
    assert not with_buffer(needed - 24).fits_in_one_pass


def test_without_the_number_of_keys_every_dirty_record_is_one() -> None:
    estimate = estimate_compaction(1_000_000, 0.3, MIB, record_bytes=100)
    assert estimate.dirty_keys == 3000


def test_keys_are_shared_out_over_the_partitions() -> None:
    estimate = estimate_compaction(100 * GIB, 0.5, MIB, keys=30_000_000, partitions=6)
    assert estimate.dirty_keys == 5_000_000
    assert estimate.fits_in_one_pass


def test_disk_headroom_is_a_segment_and_a_minute_of_replaced_ones() -> None:
    assert estimate_compaction(100 * GIB, 0.5, 100 * MIB).disk_headroom_bytes == GIB + 6000 * MIB
    assert estimate_compaction(2 * GIB, 0.5, 100 * MIB).disk_headroom_bytes == 2 * GIB


def test_a_clean_topic_costs_nothing() -> None:
    estimate = estimate_compaction(GIB, 0.0, MIB)
    assert (estimate.seconds, estimate.io_bytes, estimate.passes) == (0, 0, 0)
    assert estimate.fits_in_one_pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic_bytes": -1},
        {"dirty_ratio": 1.1},
        {"dirty_ratio": -0.1},
        {"dirty_ratio": math.nan},
        {"throughput": 0},
        {"throughput": math.nan},
        {"partitions": 0},
        {"record_bytes": 0},
        {"keys": -1},
        {"dedupe_buffer_bytes": 24},
        {"segment_bytes": 0},
    ],
)
def test_a_compaction_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        estimate_compaction(**{"topic_bytes": GIB, "dirty_ratio": 0.5, "throughput": MIB} | wrong)
    assert caught.value.hint


def test_a_million_items_at_one_percent_take_a_little_over_a_megabyte() -> None:
    estimate = estimate_bloom(1_000_000, 0.01)
    assert estimate.bits == 9_585_058
    assert estimate.bytes == 1_198_133
    assert round(estimate.bytes / MIB, 2) == 1.14
    assert estimate.hash_functions == 7
    assert estimate.expected_rate == pytest.approx(0.01004, abs=1e-5)


def test_seven_hash_functions_err_less_often_than_six() -> None:
    seven = estimate_bloom(1_000_000, 0.01)
    six = (1 - math.exp(-6 * seven.items / seven.bits)) ** 6
    assert seven.expected_rate < six


@given(st.integers(100, 10**9), st.floats(1e-9, 0.4))
def test_the_rounded_number_of_hash_functions_is_as_good_as_its_neighbours(
    items: int, rate: float
) -> None:
    estimate = estimate_bloom(items, rate)

    def rate_with(functions: int) -> float:
        return float((1 - math.exp(-functions * items / estimate.bits)) ** functions)

    optimum = estimate.bits / items * math.log(2)
    others = [k for k in (math.floor(optimum), math.ceil(optimum)) if k >= 1]
    assert estimate.expected_rate <= min(map(rate_with, others)) * 1.02
    assert estimate.expected_rate == pytest.approx(rate, rel=0.25)


@pytest.mark.parametrize(
    ("items", "rate"), [(0, 0.01), (-1, 0.01), (1, 0), (1, 1), (1, -0.1), (1, math.nan)]
)
def test_a_bloom_filter_that_cannot_be_is_refused(items: int, rate: float) -> None:
    with pytest.raises(ConfigError) as caught:
        estimate_bloom(items, rate)
    assert caught.value.hint


def test_a_restore_takes_its_records_at_the_rate_that_was_measured() -> None:
    estimate = estimate_restore(2_000_000, 400_000)
    assert (estimate.seconds, estimate.limited_by) == (5, "records")


def test_a_slow_network_decides_how_long_a_restore_takes() -> None:
    slow = estimate_restore(1_000_000, 500_000, record_bytes=1000, bytes_per_second=10**8)
    assert (slow.seconds, slow.limited_by) == (10, "bytes")
    fast = estimate_restore(1_000_000, 500_000, record_bytes=100, bytes_per_second=10**9)
    assert (fast.seconds, fast.limited_by) == (2, "records")


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": -1},
        {"records_per_second": 0},
        {"records_per_second": math.inf},
        {"record_bytes": 100},
        {"bytes_per_second": 100.0},
        {"record_bytes": 0, "bytes_per_second": 1.0},
        {"record_bytes": 1, "bytes_per_second": 0.0},
    ],
)
def test_a_restore_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        estimate_restore(**{"records": 10, "records_per_second": 1.0} | wrong)
    assert caught.value.hint


def test_estimates_cannot_be_changed() -> None:
    estimate: Any = estimate_restore(1, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.seconds = 0
