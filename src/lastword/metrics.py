"""Counters, gauges and latencies that cost nanoseconds, read by whoever shows them.

A table owns one ``Metrics``. Hot paths hold on to the objects it hands out; nothing is looked
up, locked or formatted per operation. Counts may be off by the few that two threads added at
the same instant: they inform, they do not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

LATENCY_BUCKETS_S = tuple(2.0**exponent / 1e6 for exponent in range(24))


class Sample(NamedTuple):
    """One figure at one moment; ``labels`` tell its siblings apart."""

    name: str
    labels: tuple[tuple[str, str], ...]
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
    """How often something was done and how long it took, in buckets that double."""

    __slots__ = ("buckets", "count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.buckets = [0] * (len(LATENCY_BUCKETS_S) + 1)

    def observe_ns(self, duration_ns: int) -> None:
        """Count one operation of this length."""
        self.count += 1
        self.seconds += duration_ns / 1e9
        bucket = (duration_ns // 1000).bit_length()
        self.buckets[min(bucket, len(LATENCY_BUCKETS_S))] += 1


class Metrics:
    """Every figure of one table, by name."""

    def __init__(self, **labels: str) -> None:
        self._labels = tuple(sorted(labels.items()))
        self._counters: dict[tuple[str, tuple[tuple[str, str], ...]], Counter] = {}
        self._latencies: dict[str, Latency] = {}
        self._gauges: dict[tuple[str, tuple[tuple[str, str], ...]], Callable[[], float]] = {}

    def counter(self, name: str, **labels: str) -> Counter:
        """The counter of that name and labels, made on first use."""
        return self._counters.setdefault((name, tuple(sorted(labels.items()))), Counter())

    def latency(self, operation: str) -> Latency:
        """The latency of that operation, made on first use."""
        return self._latencies.setdefault(operation, Latency())

    def gauge(self, name: str, read: Callable[[], float], **labels: str) -> None:
        """Register a figure that is asked for when somebody looks."""
        self._gauges[name, tuple(sorted(labels.items()))] = read

    def samples(self) -> Iterator[Sample]:
        """Every figure as of now."""
        for (name, labels), counter in list(self._counters.items()):
            yield Sample(name, self._labels + labels, counter.value)
        for (name, labels), read in list(self._gauges.items()):
            yield Sample(name, self._labels + labels, read())
        for operation, latency in list(self._latencies.items()):
            labels = (*self._labels, ("operation", operation))
            yield Sample("operations_total", labels, latency.count)
            yield Sample("operation_seconds_total", labels, latency.seconds)
