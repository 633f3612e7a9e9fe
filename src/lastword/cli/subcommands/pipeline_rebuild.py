"""``lastword pipeline rebuild``: the rows that the events give, compared with the changelog."""

from __future__ import annotations

from dataclasses import asdict

import click

from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.failure import NOT_FOUND_OR_CONFLICT
from lastword.cli.support.pipeline_target import connection_of, load_pipeline
from lastword.cli.support.progress_bar import progress_bar
from lastword.spark.installed import require_spark


@click.command()
@with_cluster
@click.argument("target", metavar="MODULE:NAME")
@click.argument("store")
@click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs, as in spark://host:7077.  [default: all cores of this machine]",
)
def rebuild(app: AppContext, target: str, store: str, master: str | None) -> None:
    """Compute STORE of the pipeline NAME again from its events, and compare.

    All events up to the committed positions are folded again, on Spark, and the rows they give are
    compared with those in the changelog. Writes nothing, and may run beside the pipeline. Exit
    status 1 if a row differs, is missing, or has no events.
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
        with session as spark:
            app.output.info(f"folding the events of {store} again")
            rebuilt = found.rebuild(store, spark, connection=connection)
    filtered = (
        "all equal"
        if rebuilt.equal
        else f"{rebuilt.different} different, {rebuilt.missing} missing, {rebuilt.extra} extra"
    )
    line = f"{store}: {rebuilt.events:,} events give {rebuilt.rows:,} rows: {filtered}"
    app.output.line(line, {**asdict(rebuilt), "equal": rebuilt.equal})
    if not rebuilt.equal:
        raise click.exceptions.Exit(NOT_FOUND_OR_CONFLICT)
