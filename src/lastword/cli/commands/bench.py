"""``lastword bench``: measurements of the current cluster."""

from __future__ import annotations

from pathlib import Path

import click

from lastword.bench.change_stream import ChangeStream
from lastword.bench.plot import svg
from lastword.bench.topics import BenchPlan, Cleaning, TopicResult, TopicsBench, as_object
from lastword.cli.subcommands.topic_compaction import local_nodes
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.progress_bar import progress_bar
from lastword.cli.support.sizes import SIZE, as_duration, as_size
from lastword.durations import milliseconds
from lastword.kafka.admin import Admin

_COLUMNS = ("policy", "stored", "share", "records_read", "restore", "rows", "cleanings", "cleaned")


@click.group()
def bench() -> None:
    """Measure what compaction does, on this cluster."""


@bench.command()
@with_cluster
@click.option("--records", type=int, default=200_000, show_default=True, help="Changes to write.")
@click.option(
    "--keys", type=int, default=10_000, show_default=True, help="Distinct keys among them."
)
@click.option("--value-size", type=SIZE, default=200, show_default=True, help="Bytes of a value.")
@click.option("--partitions", type=int, default=1, show_default=True, help="Partitions per topic.")
@click.option(
    "--duration", default="30s", show_default=True, help="Spread the writes over this time."
)
@click.option(
    "--watch", default="2m", show_default=True, help="Then observe for at most this time."
)
@click.option(
    "--retention",
    default="1h",
    show_default=True,
    help="After this time the two topics with `delete` drop records; brokers check every 5 min.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw storage over time and the restore times into this file.",
)
def topics(  # noqa: PLR0917 - click passes them by name
    app: AppContext,
    records: int,
    keys: int,
    value_size: int,
    partitions: int,
    duration: str,
    watch: str,
    retention: str,
    plot: Path | None,
) -> None:
    """Compare a compacted, a `compact,delete` and a `delete` topic.

    Writes the same changes to three new topics, samples their sizes until the cleaner has
    nothing left to do, restores an empty table from each, and deletes the topics. How often the
    cleaner ran is known only for a broker on this machine.

    A compacted topic stores about one record per key, and a restore reads as many. A topic that
    deletes by age stores every change, and after the retention drops even unchanged keys.
    """
    plan = BenchPlan(
        stream=ChangeStream(records, keys, value_size),
        partitions=partitions,
        write_s=milliseconds(duration, what="--duration") / 1000,
        watch_s=milliseconds(watch, what="--watch") / 1000,
        retention_ms=milliseconds(retention, what="--retention"),
    )
    with Admin(app.connection) as admin, progress_bar(app.output, "comparing topics:") as report:
        nodes = local_nodes(app, admin.cluster_id())
        results = TopicsBench(admin, plan, report, local_nodes=nodes).run()
    measured = as_object(plan, results)
    if app.json_lines:
        app.output.details(measured)
    else:
        app.output.rows(_COLUMNS, [_as_row(each, results[-1]) for each in results])
        app.output.info(f"{measured['live_keys']:,} of {keys:,} keys are alive at the end")
    if plot is not None:
        title = f"{records:,} changes of {keys:,} keys, the same in each topic"
        plot.write_text(svg(title, results), encoding="utf-8")
        app.output.info(f"plot written to {plot}")


def _as_row(each: TopicResult, everything: TopicResult) -> dict[str, object]:
    share = each.size_bytes / everything.size_bytes if everything.size_bytes else 0.0
    runs = each.cleanings
    return {
        "policy": each.policy,
        "stored": as_size(each.size_bytes),
        "share": f"{share:.0%}",
        "records_read": f"{each.records_read:,}",
        "restore": as_duration(each.restore_s),
        "rows": f"{each.rows:,}",
        "cleanings": "unknown" if runs is None else len(runs),
        "cleaned": "unknown" if runs is None else f"{sum(map(_cleaned, runs)):,}",
    }


def _cleaned(run: Cleaning) -> int:
    return run.records_before - run.records_after
