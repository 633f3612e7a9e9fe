"""Records a table's figures over the last half hour, so that charts start with data."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from lastword.clock import Clock
from lastword.metrics import LATENCY_BUCKETS_S
from lastword.replicas.progress import offsets_done
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes_status import Compaction, Series
from lastword.service.observe.compaction_state import CompactionState
from lastword.service.observe.growth_rate import GrowthRate

INTERVAL_S = 2.0
_REMEMBERED = 900
_READS = ("get", "get_many", "scan", "count")
_WRITES = ("put", "delete", "put_many")


class _Seen(NamedTuple):
    """The counts of an operation at the last sample, to compute the difference."""

    counts: dict[str, int]
    buckets: dict[str, list[int]]
    watched: int


class Recorder:
    """One table. ``record`` is called every INTERVAL_S, on any one thread at a time."""

    def __init__(self, served: ServedTable, compaction: CompactionState, clock: Clock) -> None:
        self.rate = GrowthRate()
        self._served = served
        self._compaction = compaction
        self._clock = clock
        metrics = served.table.metrics
        self._latencies = {name: metrics.latency(name) for name in (*_READS, *_WRITES, "watch")}
        self._watched = metrics.counter("watch_changes_total")
        self._last = self._look()
        self._last_s = clock.monotonic()
        self._points: deque[tuple[int, dict[str, float | None]]] = deque(maxlen=_REMEMBERED)

    def record(self, watchers: int) -> None:
        """One more point."""
        now_s, now_ms = self._clock.monotonic(), self._clock.now_ms()
        self.rate.add(now_s, offsets_done(self._served.table.progress())[0])
        before, self._last = self._last, self._look()
        elapsed_s, self._last_s = max(now_s - self._last_s, 1e-3), now_s
        point: dict[str, float | None] = {"watchers": watchers}
        point |= self._rates(before, elapsed_s)
        point |= self._local()
        point |= _of_compaction(self._compaction.last(), now_ms)
        self._points.append((now_ms, point))

    def series(self, since_ms: int = 0) -> Series:
        """The points after ``since_ms``, column by column."""
        points = [each for each in list(self._points) if each[0] > since_ms]
        names = points[-1][1].keys() if points else ()
        return Series(
            interval_seconds=INTERVAL_S,
            times=[at_ms for at_ms, _ in points],
            series={name: [figures.get(name) for _, figures in points] for name in names},
        )

    def _look(self) -> _Seen:
        return _Seen(
            {name: latency.count for name, latency in self._latencies.items()},
            {name: list(latency.buckets) for name, latency in self._latencies.items()},
            self._watched.value,
        )

    def _rates(self, before: _Seen, elapsed_s: float) -> dict[str, float | None]:
        now = self._last

        def rate(names: tuple[str, ...]) -> float:
            return sum(now.counts[n] - before.counts[n] for n in names) / elapsed_s

        def since(name: str) -> list[int]:
            pairs = zip(now.buckets[name], before.buckets[name], strict=True)
            return [new - old for new, old in pairs]

        return {
            "reads_per_second": rate(_READS),
            "writes_per_second": rate(_WRITES),
            "watch_changes_per_second": (now.watched - before.watched) / elapsed_s,
            "read_p50_ms": quantile_ms(since("get"), 0.5),
            "read_p99_ms": quantile_ms(since("get"), 0.99),
            "write_p50_ms": quantile_ms(since("put"), 0.5),
            "write_p99_ms": quantile_ms(since("put"), 0.99),
            "watch_p50_ms": quantile_ms(since("watch"), 0.5),
            "watch_p99_ms": quantile_ms(since("watch"), 0.99),
        }

    def _local(self) -> dict[str, float | None]:
        partitions = self._served.table.partitions()
        return {
            "keys": sum(each.keys for each in partitions),
            "store_bytes": sum(each.store_bytes for each in partitions),
            "lag_records": sum(each.lag for each in partitions),
            "lag_seconds": max((each.lag_s for each in partitions), default=0.0),
        }


def quantile_ms(buckets: list[int], quantile: float) -> float | None:
    """The upper end of the bucket that holds the quantile; None when nothing happened."""
    wanted = sum(buckets) * quantile
    if not wanted:
        return None
    seen = 0
    for bound_s, count in zip((*LATENCY_BUCKETS_S, LATENCY_BUCKETS_S[-1]), buckets, strict=True):
        seen += count
        if seen >= wanted:
            return bound_s * 1000
    return LATENCY_BUCKETS_S[-1] * 1000


def _of_compaction(known: Compaction | None, now_ms: int) -> dict[str, float | None]:
    partitions = known.partitions if known is not None else []
    cleaners = [each.cleaner for each in partitions if each.cleaner is not None]
    contents = [each.contents for each in partitions if each.contents is not None]
    sizes = [each.size_bytes for each in partitions if each.size_bytes is not None]
    oldest = [each.oldest_dirty for each in cleaners if each.oldest_dirty is not None]
    return {
        "log_bytes": sum(sizes) if sizes else None,
        "dirty_ratio": max((each.dirty_ratio for each in cleaners), default=None),
        "compaction_lag_seconds": (
            None if not cleaners else max(0, now_ms - min(oldest, default=now_ms)) / 1000
        ),
        "log_records": sum(each.records for each in contents) if contents else None,
        "log_live_keys": sum(each.live_keys for each in contents) if contents else None,
        "duplicates": sum(each.duplicates for each in contents) if contents else None,
        "tombstones": sum(each.tombstones for each in contents) if contents else None,
        "record_bytes": sum(each.record_bytes for each in contents) if contents else None,
        "live_bytes": sum(each.live_bytes for each in contents) if contents else None,
    }
