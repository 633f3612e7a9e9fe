"""Every figure of the service and its tables in Prometheus' text format."""

from __future__ import annotations

import os
import resource
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from lastword import __version__
from lastword.exposition import exposition
from lastword.metrics import Labels, Sample
from lastword.replicas.progress import offsets_done
from lastword.service.api.context import Context
from lastword.service.api.served import ServedTable
from lastword.service.observe.table_status import is_ready
from lastword.table.writing.shared_clusters import SHARED_CLUSTERS

_PAGE_BYTES = resource.getpagesize()


def metrics_text(context: Context) -> str:
    """The whole text; may count the keys of a RocksDB store, so it runs on a thread."""
    return exposition(_samples(context))


def _samples(context: Context) -> Iterator[Sample]:
    yield Sample("info", (("instance", context.instance_id), ("version", __version__)), 1)
    yield from context.metrics.samples()
    for served in context.tables.values():
        yield from served.table.metrics.samples()
        yield from _of_table(served)
        yield from _of_compaction(context, served)
    yield from SHARED_CLUSTERS.samples()
    for others in context.others:
        yield from others.samples()
    yield Sample("watching", (), context.watching)
    yield Sample("watch_backlog_bytes", (), context.backlog.bytes)
    for pool in context.pools:
        yield Sample("calls_under_way", (("pool", pool.name),), pool.calls)
    yield from _of_process(context)


def _of_table(served: ServedTable) -> Iterator[Sample]:
    table: Labels = (("table", served.name),)
    done, total = offsets_done(served.table.progress())
    yield Sample("table_ready", table, is_ready(served))
    yield Sample("restore_offsets_done", table, done)
    yield Sample("restore_offsets_to_do", table, total)
    for each in served.table.partitions():
        labels: Labels = (*table, ("partition", str(each.partition)))
        yield Sample("keys", labels, each.keys)
        yield Sample("store_bytes", labels, each.store_bytes)
        yield Sample("position", labels, each.position)
        yield Sample("log_start_offset", labels, each.log_start)
        yield Sample("log_end_offset", labels, each.log_end)
        yield Sample("lag_records", labels, each.lag)
        yield Sample("lag_seconds", labels, each.lag_s)
        yield Sample("stale", labels, each.stale)
        yield Sample("quarantined_keys", labels, each.quarantined)
        for name, value in each.store_stats.items():
            yield Sample(f"store_{name}", labels, value)


def _of_compaction(context: Context, served: ServedTable) -> Iterator[Sample]:
    compaction = context.compactions[served.name].last()
    for each in compaction.partitions if compaction is not None else ():
        labels: Labels = (("table", served.name), ("partition", str(each.partition)))
        if each.size_bytes is not None:
            yield Sample("log_bytes", labels, each.size_bytes)
        if each.contents is not None:
            yield Sample("log_records", labels, each.contents.records)
            yield Sample("log_duplicates", labels, each.contents.duplicates)
            yield Sample("log_tombstones", labels, each.contents.tombstones)
            yield Sample("log_live_bytes", labels, each.contents.live_bytes)
        if each.cleaner is not None:
            yield Sample("dirty_ratio", labels, each.cleaner.dirty_ratio)
            yield Sample("cleanable_bytes", labels, each.cleaner.cleanable_bytes)
            yield Sample("log_segments", labels, each.cleaner.segments)
            oldest = each.cleaner.oldest_dirty
            age_ms = 0 if oldest is None else max(0, context.clock.now_ms() - oldest)
            yield Sample("compaction_lag_seconds", labels, age_ms / 1000)
            if each.cleaner.last_run is not None:
                ended = each.cleaner.last_run.ended
                yield Sample("last_clean_timestamp_seconds", labels, ended / 1000)


def _of_process(context: Context) -> Iterator[Sample]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield Sample("process_cpu_seconds_total", (), usage.ru_utime + usage.ru_stime)
    yield Sample("process_start_time_seconds", (), context.started_ms / 1000)
    yield Sample("process_threads", (), threading.active_count())
    if sys.platform == "linux":
        resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        yield Sample("process_resident_bytes", (), resident * _PAGE_BYTES)
        yield Sample("process_open_files", (), len(os.listdir("/proc/self/fd")))  # noqa: PTH208
        yield from _of_disk(Path("/proc/self/io").read_text(encoding="ascii").splitlines())


def _of_disk(lines: Iterable[str]) -> Iterator[Sample]:
    figures = dict(line.split(": ") for line in lines)
    yield Sample("process_disk_read_bytes_total", (), int(figures["read_bytes"]))
    yield Sample("process_disk_written_bytes_total", (), int(figures["write_bytes"]))
