"""``lastword estimate``: what a compaction, a Bloom filter or a restore will cost."""

from __future__ import annotations

from dataclasses import asdict

import click

from lastword.cli.support.app_context import AppContext, with_app, with_cluster
from lastword.cli.support.sizes import SIZE, as_duration, as_size
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError
from lastword.topics.estimates import estimate_bloom, estimate_compaction, estimate_restore

MEASURE_SECONDS = 5.0


@click.group()
def estimate() -> None:
    """Estimate compaction, a Bloom filter or a restore."""


@estimate.command()
@with_app
@click.option("--topic-size", type=SIZE, required=True, help="Bytes of the topic, as in 100GiB.")
@click.option("--dirty-ratio", type=float, required=True, help="The share not yet cleaned: 0.5.")
@click.option("--throughput", type=SIZE, required=True, help="Bytes per second, as in 100MiB.")
@click.option(
    "--partitions", type=int, default=1, show_default=True, help="Partitions of the topic."
)
@click.option(
    "--record-size", type=SIZE, default=1024, show_default=True, help="Average record size."
)
@click.option("--keys", type=int, help="Distinct keys, if known; else every record counts as one.")
def compaction(  # noqa: PLR0917 - click passes them by name
    app: AppContext,
    topic_size: int,
    dirty_ratio: float,
    throughput: int,
    partitions: int,
    record_size: int,
    keys: int | None,
) -> None:
    """Estimate one cleaning of a topic: time, bytes moved, memory and disk it needs."""
    result = estimate_compaction(
        topic_size,
        dirty_ratio,
        throughput,
        partitions=partitions,
        record_bytes=record_size,
        keys=keys,
    )
    if app.json_lines:
        app.output.details(asdict(result))
        return
    app.output.details(
        {
            "dirty": as_size(result.dirty_bytes),
            "time": f"{as_duration(result.seconds)}, at most {as_duration(result.io_seconds)}",
            "read and written": as_size(result.io_bytes),
            "dirty keys per partition": f"{result.dirty_keys:,}",
            "passes": result.passes,
            "dedupe buffer for one pass": as_size(result.dedupe_buffer_needed),
            "free disk needed": as_size(result.disk_headroom_bytes),
            "recommended dirty ratio": result.recommended_dirty_ratio,
        }
    )


@estimate.command()
@with_app
@click.option("--items", type=int, required=True, help="How many keys it holds.")
@click.option("--rate", type=float, default=0.01, show_default=True, help="False positives.")
def bloom(app: AppContext, items: int, rate: float) -> None:
    """Size a Bloom filter."""
    result = estimate_bloom(items, rate)
    if app.json_lines:
        app.output.details(asdict(result))
        return
    app.output.details(
        {
            "size": as_size(result.bytes),
            "bits": f"{result.bits:,}",
            "hash functions": result.hash_functions,
            "false positives": f"{result.expected_rate:.3%}",
        }
    )


@estimate.command()
@with_cluster
@click.argument("topic", required=False)
@click.option("--records", type=int, help="Records still in the log; without a TOPIC.")
@click.option("--records-per-second", type=float, help="A rate measured elsewhere.")
def restore(
    app: AppContext, topic: str | None, records: int | None, records_per_second: float | None
) -> None:
    """Estimate a restore: of TOPIC, by reading it for five seconds, or of --records.

    The estimate counts offsets, because the number of records in a compacted log is unknown until
    it is read. A restore skips the gaps.
    """
    if topic is not None and records is None:
        records, measured = _measure(app, topic)
        records_per_second = records_per_second or measured
    if records is None or (records and records_per_second is None):
        raise ConfigError(
            "nothing to estimate from", hint="name a TOPIC, or --records and --records-per-second"
        )
    result = estimate_restore(records, records_per_second or 1.0)
    if app.json_lines:
        app.output.details(asdict(result) | {"records_per_second": records_per_second})
        return
    app.output.details(
        {
            "time": as_duration(result.seconds),
            "offsets": f"{records:,}",
            "per second": records_per_second and f"{records_per_second:,.0f}",
        }
    )


def _measure(app: AppContext, topic: str) -> tuple[int, float | None]:
    """All offsets of the topic, and how many per second are read here; None if it is empty."""
    from lastword.kafka.admin import Admin

    with Admin(app.connection) as admin:
        partitions = range(admin.describe(topic).partitions)
        bounds = admin.bounds(topic, partitions)
    ranges = {p: (each.start, each.stable_end) for p, each in bounds.items()}
    offsets = sum(end - start for start, end in ranges.values())
    if offsets == 0:
        return 0, None
    reached = {p: start for p, (start, _) in ranges.items()}
    began = SYSTEM_CLOCK.monotonic()
    for batch in app.log_source.read(topic, ranges):
        reached[batch.partition] = batch.next_offset
        if SYSTEM_CLOCK.monotonic() - began > MEASURE_SECONDS:
            break
    passed = sum(reached[p] - start for p, (start, _) in ranges.items())
    return offsets, max(passed, 1) / (SYSTEM_CLOCK.monotonic() - began)
