"""``lastword pipeline status``: driver, lag and stores of a pipeline."""

from __future__ import annotations

from dataclasses import asdict

import click

from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.sizes import as_size
from lastword.kafka.admin import Admin
from lastword.pipelines.run.status import PipelineStatus, applications, pipeline_status


@click.command()
@with_cluster
@click.argument("application", required=False, metavar="[APP]")
def status(app: AppContext, application: str | None) -> None:
    """Show how the pipeline with the application id APP is doing; without APP, list all.

    Everything is read from Kafka, so it works from any machine, also when the pipeline is down: the
    running driver, the position and lag of each source, the changelog of each store. The rows of a
    store are in its changelog: `lastword ls APP-STORE-changelog`.
    """
    if application is None:
        with Admin(app.connection) as admin:
            names = applications(admin)
        found = [pipeline_status(app.connection, name) for name in names]
        app.output.rows(("pipeline", "driver", "lag", "stores"), map(_row, found))
        return
    found_one = pipeline_status(app.connection, application)
    if app.output.json_lines:
        app.output.details(_row(found_one) | _details(found_one))
        return
    app.output.details({"pipeline": application, "driver": _driver(found_one) or "not running"})
    app.output.rows(
        ("source", "lag", "positions"),
        (
            {
                "source": source.topic,
                "lag": source.lag,
                "positions": " ".join(f"{p}:{at}" for p, at in source.positions.items()),
            }
            for source in found_one.sources
        ),
    )
    app.output.rows(
        ("store", "changelog", "partitions", "offsets", "size"),
        ({**asdict(store), "size": as_size(store.size_bytes)} for store in found_one.stores),
    )


def _row(found: PipelineStatus) -> dict[str, object]:
    return {
        "pipeline": found.application_id,
        "driver": _driver(found),
        "lag": found.lag,
        "stores": len(found.stores),
    }


def _details(found: PipelineStatus) -> dict[str, object]:
    return {
        "sources": [asdict(source) for source in found.sources],
        "stores": [asdict(store) for store in found.stores],
    }


def _driver(found: PipelineStatus) -> str | None:
    driver = found.driver
    return None if driver is None else f"{driver.client_id} at {driver.host.lstrip('/')}"
