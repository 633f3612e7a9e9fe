"""The two ways to find a message that came before, as any consumer uses them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.deduplication import BloomDeduplicator, DeduplicationWindow
from lastword.errors import ConfigError
from lastword.testing.fake_clock import FakeClock


def test_an_id_is_remembered_for_the_window_and_a_duplicate_does_not_extend_it() -> None:
    seen = DeduplicationWindow(60_000)
    assert [seen.is_duplicate("m", at) for at in (0, 30_000, 59_999, 60_000)] == [
        False,
        True,
        True,
        False,
    ]


def test_without_a_time_the_clock_is_used() -> None:
    clock = FakeClock()
    seen = DeduplicationWindow(1_000, clock=clock)
    assert not seen.is_duplicate("m")
    clock.advance(seconds=0.999)
    assert seen.is_duplicate("m")
    clock.advance(seconds=0.001)
    assert not seen.is_duplicate("m")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 60))), st.integers(1, 30))
def test_the_window_is_exact_and_holds_no_more_than_it_must(
    messages: list[tuple[int, int]], window_ms: int
) -> None:
    seen = DeduplicationWindow(window_ms)
    let_through: list[tuple[int, int]] = []
    now_ms = 0
    for message_id, at_ms in messages:
        now_ms = max(now_ms, at_ms)
        known = [t for other, t in let_through if other == message_id and now_ms - t < window_ms]
        assert seen.is_duplicate(message_id, at_ms) == bool(known)
        if not known:
            let_through.append((message_id, now_ms))
    assert len(seen) == sum(now_ms - t < window_ms for _, t in let_through)


def test_a_bloom_filter_always_knows_the_last_ids_and_errs_within_its_bound() -> None:
    capacity, rate = 5_000, 0.01
    seen = BloomDeduplicator(capacity=capacity, false_positive_rate=rate)
    errors = sum(seen.is_duplicate(f"new-{i}") for i in range(6 * capacity))
    assert errors <= 6 * capacity * rate
    assert errors > 0, "a filter of this size must err at times"
    last = range(5 * capacity, 6 * capacity)
    assert all(seen.is_duplicate(f"new-{i}") for i in last)
    assert seen.size_bytes < 2 * capacity * 1.8


def test_a_bloom_filter_continues_from_its_pages_and_refuses_those_of_another() -> None:
    pages: dict[bytes, bytes] = {}
    BloomDeduplicator(capacity=100, false_positive_rate=0.001, pages=pages).is_duplicate(7)
    again = BloomDeduplicator(capacity=100, false_positive_rate=0.001, pages=pages)
    assert again.is_duplicate(7)
    assert not again.is_duplicate("7")
    with pytest.raises(ConfigError, match="belong to a Bloom filter of"):
        BloomDeduplicator(capacity=100_000, false_positive_rate=0.001, pages=pages)


@pytest.mark.parametrize(("capacity", "rate"), [(0, 0.1), (10, 0.0), (10, 1.0), (10, 1e-12)])
def test_an_impossible_filter_is_refused(capacity: int, rate: float) -> None:
    with pytest.raises(ConfigError, match="no Bloom filter"):
        BloomDeduplicator(capacity=capacity, false_positive_rate=rate)


def test_a_window_without_length_is_refused() -> None:
    with pytest.raises(ConfigError, match="is too short"):
        DeduplicationWindow(0)
