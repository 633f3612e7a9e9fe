"""``lastword pipeline``: data pipelines on Spark."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from lastword.cli.subcommands.pipeline_describe import describe
from lastword.cli.subcommands.pipeline_rebuild import rebuild
from lastword.cli.subcommands.pipeline_status import status
from lastword.cli.support.app_context import AppContext, with_app, with_cluster
from lastword.cli.support.metrics_endpoint import metrics_endpoint
from lastword.cli.support.pipeline_batches import print_batch
from lastword.cli.support.pipeline_target import (
    connection_of,
    load_pipeline,
    mode_of,
)
from lastword.cli.support.progress_bar import progress_bar
from lastword.cli.support.stop_signals import calling_at_signals
from lastword.spark.installed import require_spark, snapshots_are_installed

if TYPE_CHECKING:
    from lastword.pipelines.run.driver import Mode


@click.group()
def pipeline() -> None:
    """Run data pipelines on Spark, and show their progress."""


pipeline.add_command(status)
pipeline.add_command(rebuild)
pipeline.add_command(describe)


@pipeline.command()
@with_cluster
@click.argument("target", metavar="MODULE:NAME")
@click.option("--once", is_flag=True, help="Process the records that are there now, then stop.")
@click.option(
    "--mode",
    type=click.Choice(["micro-batch", "real-time"]),
    help="Batches that Spark plans, or long tasks that commit every 100 ms."
    "  [default: pipeline.mode]",
)
@click.option(
    "--commit-interval",
    metavar="DURATION",
    help="How often to commit, as in 50ms.  [default: that of the pipeline]",
)
@click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs, as in spark://host:7077.  [default: all cores of this machine]",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve Prometheus metrics at this port of the loopback address.  [default: none]",
)
def run(
    app: AppContext,
    target: str,
    *,
    once: bool,
    mode: Mode | None,
    commit_interval: str | None,
    master: str | None,
    metrics_port: int | None,
) -> None:
    """Run the pipeline NAME of the Python module MODULE until Ctrl-C.

    The module is looked for in the current directory and among installed packages. Each batch
    prints a line: records and records per second, updates, lag, store sizes, and dropped records.
    In real-time mode each second prints a line.
    """
    found = load_pipeline(target)
    require_spark()
    # Loads PySpark, which no other command needs.
    from lastword.spark.session import LOCAL_MASTER, session_for

    connection = connection_of(app, found)
    with progress_bar(app.output, "fetching Spark's Kafka jars (once)", announce=True) as report:
        session = session_for(
            found.application_id, home=app.home, master=master or LOCAL_MASTER, progress=report
        )
        with session as spark, calling_at_signals(found.stop), ExitStack() as opened:
            if metrics_port is not None:
                url = opened.enter_context(metrics_endpoint(found.metrics, metrics_port))
                app.output.info(f"metrics at {url}")
            app.output.info(f"{found.application_id} runs at {connection.bootstrap_servers}")
            found.run(
                spark,
                once=once,
                mode=mode or mode_of(app),
                commit_interval=commit_interval,
                connection=connection,
                state_dir=app.state_dir,
                on_batch=lambda batch: print_batch(app, batch),
            )


@pipeline.command()
@with_app
def jars(app: AppContext) -> None:
    """Print the jars with which Spark reads Kafka, for spark-submit.

    For example: spark-submit --jars "$(lastword pipeline jars)" monitoring.py
    """
    require_spark()
    from lastword.jvm.java import find_java
    from lastword.spark.session import SPARK_KAFKA_JARS

    with progress_bar(app.output, "fetching Spark's Kafka jars (once)", announce=True) as report:
        found = SPARK_KAFKA_JARS.resolve(app.home, find_java(os.environ), progress=report)
    paths = [str(path) for path in found]
    app.output.line(",".join(paths), {"jars": paths})


@pipeline.command()
@with_app
def prepare(app: AppContext) -> None:
    """Fetch Spark's jars and make it start faster, also offline.

    Starts Spark once and archives its classes, which halves the time of later starts. Optional:
    without it the first run fetches the jars, and every start takes longer.
    """
    require_spark()
    from lastword.jvm.java import find_java
    from lastword.spark.session import prepare as prepare_spark

    java = find_java(os.environ)
    for delta_at in (None, str(app.home)) if snapshots_are_installed() else (None,):
        what = "Spark with Delta" if delta_at else "Spark"
        with progress_bar(app.output, f"preparing {what} (once)", announce=True) as report:
            archived = prepare_spark(app.home, java, delta_at=delta_at, progress=report)
        state = (
            "is ready" if archived else f"is ready; Java {java.release} here archives no classes"
        )
        app.output.info(f"{what} {state}")
