"""``lastword ls`` and ``lastword count``: keys and values in key order, or how many there are."""

from __future__ import annotations

from itertools import islice

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.as_of import as_of_option, read_past
from lastword.cli.support.opening import describe_entry, open_table, warn_if_stale
from lastword.cli.support.output import as_text
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.window_keys import key_text


@click.command()
@with_table
@click.option("--prefix", help="Only keys that begin with this.")
@click.option("--from", "start", metavar="KEY", help="Only keys from this one on.")
@click.option("--to", "end", metavar="KEY", help="Only keys before this one.")
@click.option("--reverse", is_flag=True, help="From the last key to the first.")
@click.option("--limit", type=click.IntRange(min=1), help="At most this many keys.")
@as_of_option
def ls(  # noqa: PLR0917 - click passes them by name
    app: AppContext,
    spec: TableSpec,
    prefix: str | None,
    start: str | None,
    end: str | None,
    reverse: bool,
    limit: int | None,
    as_of: str | None,
) -> None:
    """List the keys and values of TABLE in key order."""
    with open_table(app, spec) as table:
        rows = table.query if as_of is None else read_past(app, table, as_of)
        scan = rows.scan(
            None if start is None else spec.parse_key(start),
            None if end is None else spec.parse_key(end),
            prefix=None if prefix is None else spec.parse_prefix(prefix),
            reverse=reverse,
        )
        with scan:
            warn_if_stale(app, stale=scan.stale, contact_age_s=scan.contact_age_s)
            for entry in islice(scan, limit):
                line = f"{key_text(entry.key)}  {as_text(entry.value)}"
                app.output.line(line, describe_entry(entry))


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
