"""``lastword tables``: the tables that the catalog and lastword.toml know."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.table_options import TableSpec, table_spec
from lastword.kafka.admin import Admin

_COLUMNS = ("table", "topic", "key", "value", "window", "mount", "written_by", "description")


@click.command()
@with_cluster
def tables(app: AppContext) -> None:
    """List the tables of the catalog and of lastword.toml, and how they are written.

    Pipelines put their results into the catalog; `lastword topic create` and `lastword describe
    --save` put in other tables.
    """
    with Admin(app.connection) as admin:
        there = set(admin.topics())
    named = [table_spec(app, name) for name in app.settings.tables]
    of_file = {spec.topic for spec in named}
    specs = named + [table_spec(app, topic) for topic in sorted(app.catalog.keys() - of_file)]
    rows = [_row(app, spec) for spec in specs]
    count = app.output.rows(_COLUMNS, rows)
    for spec in specs:
        if spec.topic not in there:
            app.output.info(f"{spec.name}: there is no topic {spec.topic} now")
    if not count:
        app.output.info("the catalog is empty, and lastword.toml has no tables")


def _row(app: AppContext, spec: TableSpec) -> dict[str, object]:
    entry = app.catalog.get(spec.topic)
    return {
        "table": spec.name,
        "topic": spec.topic,
        "key": spec.key,
        "value": spec.value,
        "window": spec.window,
        "mount": spec.mount,
        "written_by": None if entry is None else entry.written_by,
        "description": None if entry is None else entry.description,
    }
