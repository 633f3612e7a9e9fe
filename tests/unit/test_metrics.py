from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.metrics import LATENCY_BUCKETS_S, TIMED_ONE_IN, Latency, Metrics, Sample


def test_a_counter_of_one_name_is_one_counter() -> None:
    metrics = Metrics(table="users")
    metrics.counter("read_total").add()
    metrics.counter("read_total").add(4)
    assert list(metrics.samples()) == [Sample("read_total", (("table", "users"),), 5)]


def test_labels_tell_counters_apart_in_any_order() -> None:
    metrics = Metrics()
    assert metrics.counter("x", a="1", b="2") is metrics.counter("x", b="2", a="1")
    assert metrics.counter("x", a="1") is not metrics.counter("x", a="2")


def test_a_gauge_is_read_on_demand() -> None:
    metrics = Metrics()
    level = [1.0]
    metrics.gauge("level", lambda: level[0], partition="0")
    level[0] = 2.5
    assert list(metrics.samples()) == [Sample("level", (("partition", "0"),), 2.5)]


def test_a_latency_is_reported_as_a_count_and_a_sum_of_seconds() -> None:
    metrics = Metrics(table="users")
    metrics.latency("get").observe_ns(1_500_000_000)
    metrics.latency("get").observe_ns(500_000_000)
    labels = (("table", "users"), ("operation", "get"))
    samples = list(metrics.samples())
    assert Sample("operation_seconds_count", labels, 2) in samples
    assert Sample("operation_seconds_sum", labels, pytest.approx(2.0)) in samples
    buckets = [each.value for each in samples if each.name == "operation_seconds_bucket"]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 2


@given(st.integers(0, 10**14))
def test_an_operation_falls_into_the_bucket_that_just_holds_it(duration_ns: int) -> None:
    latency = Latency()
    latency.observe_ns(duration_ns)
    (bucket,) = (i for i, count in enumerate(latency.buckets) if count)
    whole_us = duration_ns // 1000
    if bucket < len(LATENCY_BUCKETS_S):
        assert whole_us / 1e6 < LATENCY_BUCKETS_S[bucket]
    if bucket > 0:
        assert whole_us / 1e6 >= LATENCY_BUCKETS_S[bucket - 1]


def test_frequent_operations_are_sampled_for_time_and_all_counted() -> None:
    latency, timed = Latency(), 0
    for number in range(10 * TIMED_ONE_IN):
        if not latency.untimed():
            latency.observe_ns(1_000_000 * (number // TIMED_ONE_IN + 1))
            timed += 1
        assert latency.count == number + 1
    assert timed == 10
    assert latency.seconds == pytest.approx(sum(range(1, 11)) * TIMED_ONE_IN / 1000)


def test_operations_that_are_not_timed_count_as_long_as_the_one_before() -> None:
    latency = Latency()
    assert not latency.untimed()
    latency.observe_ns(500_000)
    assert latency.untimed()
    (bucket,) = (i for i, count in enumerate(latency.buckets) if count)
    assert latency.buckets[bucket] == 2
