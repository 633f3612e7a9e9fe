"""``lastword get``: the value of a key."""

from __future__ import annotations

import click

from lastword.cli.context import AppContext
from lastword.cli.opening import describe_entry, note_if_stale, open_table
from lastword.cli.output import as_text
from lastword.cli.table_options import TableSpec, with_table
from lastword.errors import QueryError


@click.command()
@with_table
@click.argument("key")
def get(app: AppContext, spec: TableSpec, key: str) -> None:
    """Print the value of KEY in TABLE; exit with 1 when there is no such key."""
    with open_table(app, spec) as table:
        answer = table.query.get(spec.parse_key(key))
    note_if_stale(app, stale=answer.stale)
    if answer.value is None:
        raise QueryError(
            f"{spec.name} has no key {key!r}", hint=f"see its keys: lastword ls {spec.name}"
        )
    app.output.line(as_text(answer.value.value), describe_entry(answer.value))
