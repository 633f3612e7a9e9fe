"""Counters, gauges and latencies that cost nanoseconds to update.

A table owns one ``Metrics``. Hot paths keep the objects that it returns, so nothing is looked up,
locked or formatted per operation. Counts may miss a few increments of threads that race: nothing
depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]

LATENCY_BUCKETS_S = tuple(2.0**exponent / 1e6 for exponent in range(24))
TIMED_ONE_IN = 16
_SLOWEST = len(LATENCY_BUCKETS_S)
_SHOWN_BUCKETS = range(1, 24, 2)  # every second bucket is enough for quantiles


class Sample(NamedTuple):
    """One figure at one moment; ``labels`` tell its siblings apart."""

    name: str
    labels: Labels
    value: float


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, amount: int = 1) -> None:
        """Count ``amount`` more."""
        self.value += amount


class Latency:
    """How often something was done and how long it took, in buckets that double.

    Operations that take a microsecond are not all timed: reading the clock would double their cost.
    ``untimed`` counts one as if it took as long as the one timed last, for all but one in
    TIMED_ONE_IN. So counts are exact, and times are those of a sample.
    """

    __slots__ = ("_last_bucket", "_last_s", "_untimed", "buckets", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.buckets = [0] * (len(LATENCY_BUCKETS_S) + 1)
        self._untimed = 0
        self._last_bucket = 0
        self._last_s = 0.0

    @property
    def count(self) -> int:
        """How often it was done."""
        return sum(self.buckets)

    def observe_ns(self, duration_ns: int) -> None:
        """Count one operation of this length."""
        self._last_s = duration_ns / 1e9
        self.seconds += self._last_s
        bucket = (duration_ns // 1000).bit_length()
        self._last_bucket = bucket if bucket < _SLOWEST else _SLOWEST
        self.buckets[self._last_bucket] += 1

    def untimed(self) -> bool:
        """Count an operation without timing it; False when it is one to time and ``observe``."""
        if not self._untimed:
            self._untimed = TIMED_ONE_IN - 1
            return False
        self._untimed -= 1
        self.seconds += self._last_s
        self.buckets[self._last_bucket] += 1
        return True


class Metrics:
    """Every figure of one table, by name."""

    def __init__(self, **labels: str) -> None:
        self._labels = tuple(sorted(labels.items()))
        self._counters: dict[tuple[str, Labels], Counter] = {}
        self._latencies: dict[tuple[str, str], Latency] = {}
        self._gauges: dict[tuple[str, Labels], Callable[[], float]] = {}

    def counter(self, name: str, **labels: str) -> Counter:
        """The counter of that name and labels, made on first use."""
        return self._counters.setdefault((name, tuple(sorted(labels.items()))), Counter())

    def latency(self, operation: str, *, name: str = "operation_seconds") -> Latency:
        """The latency of that operation, made on first use."""
        return self._latencies.setdefault((name, operation), Latency())

    def gauge(self, name: str, read: Callable[[], float], **labels: str) -> None:
        """Register a figure that is computed when the metrics are read."""
        self._gauges[name, tuple(sorted(labels.items()))] = read

    def samples(self) -> Iterator[Sample]:
        """Every figure as of now."""
        for (name, labels), counter in list(self._counters.items()):
            yield Sample(name, self._labels + labels, counter.value)
        for (name, labels), read in list(self._gauges.items()):
            yield Sample(name, self._labels + labels, read())
        for (name, operation), latency in list(self._latencies.items()):
            yield from _histogram(name, (*self._labels, ("operation", operation)), latency)


def _histogram(name: str, labels: Labels, latency: Latency) -> Iterator[Sample]:
    """How many took at most each bucket's time, then the sum and the count, as in Prometheus."""
    counts = list(latency.buckets)
    for index in _SHOWN_BUCKETS:
        bound = f"{LATENCY_BUCKETS_S[index]:g}"
        yield Sample(f"{name}_bucket", (*labels, ("le", bound)), sum(counts[: index + 1]))
    yield Sample(f"{name}_bucket", (*labels, ("le", "+Inf")), sum(counts))
    yield Sample(f"{name}_sum", labels, latency.seconds)
    yield Sample(f"{name}_count", labels, sum(counts))
