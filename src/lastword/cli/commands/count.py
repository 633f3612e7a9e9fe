"""``lastword count``: how many keys a table has."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.opening import open_table, warn_if_stale
from lastword.cli.support.table_options import TableSpec, with_table


@click.command()
@with_table
def count(app: AppContext, spec: TableSpec) -> None:
    """Count the keys of TABLE."""
    with open_table(app, spec) as table:
        answer = table.query.count()
    warn_if_stale(app, stale=answer.stale, contact_age_s=answer.contact_age_s)
    values = {
        "count": answer.value,
        "position": str(answer.position),
        "stale": answer.stale,
        "contact_age_seconds": round(answer.contact_age_s, 3),
    }
    app.output.line(str(answer.value), values)
