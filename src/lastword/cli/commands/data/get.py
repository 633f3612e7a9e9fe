"""``lastword get``: the value of a key."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.as_of import as_of_option, read_past
from lastword.cli.support.opening import describe_entry, open_table, warn_if_stale
from lastword.cli.support.output import as_text
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.errors import QueryError


@click.command()
@with_table
@click.argument("key")
@as_of_option
def get(app: AppContext, spec: TableSpec, key: str, as_of: str | None) -> None:
    """Print the value of KEY in TABLE; exit with 1 when there is no such key.

    With --as-of the answer is exact, from snapshots, history and the log, or the command fails.
    """
    with open_table(app, spec) as table:
        if as_of is None:
            answer = table.query.get(spec.parse_key(key))
            warn_if_stale(app, stale=answer.stale, contact_age_s=answer.contact_age_s)
            entry = answer.value
        else:
            entry = read_past(app, table, as_of).entry(spec.parse_key(key))
    if entry is None:
        raise QueryError(
            f"{spec.name} has no key {key!r}", hint=f"see its keys: lastword ls {spec.name}"
        )
    app.output.line(as_text(entry.value), describe_entry(entry))
