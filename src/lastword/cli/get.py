"""``lastword get``: the value of a key."""

from __future__ import annotations

import click

from lastword.cli.context import AppContext
from lastword.cli.opening import describe_entry, note_if_stale, open_table
from lastword.cli.output import as_text
from lastword.cli.progress import progress_bar
from lastword.cli.table_options import TableSpec, with_table
from lastword.errors import QueryError
from lastword.snapshots.moments import parse_moment


@click.command()
@with_table
@click.argument("key")
@click.option(
    "--as-of",
    metavar="MOMENT",
    help="What it was: at a time (2026-01-31T12:00:00Z, or milliseconds) or a position (0:12,1:7).",
)
def get(app: AppContext, spec: TableSpec, key: str, as_of: str | None) -> None:
    """Print the value of KEY in TABLE; exit with 1 when there is no such key.

    A past value is answered exactly, from snapshots, history and the log, or not at all.
    """
    with open_table(app, spec) as table:
        if as_of is None:
            answer = table.query.get(spec.parse_key(key))
            note_if_stale(app, stale=answer.stale)
            entry = answer.value
        else:
            moment = parse_moment(as_of)
            with progress_bar(app.output, f"reading what {spec.topic} was") as report:
                past = table.as_of(moment, progress=lambda size: report(size, size, "bytes"))
            entry = past.entry(spec.parse_key(key))
    if entry is None:
        raise QueryError(
            f"{spec.name} has no key {key!r}", hint=f"see its keys: lastword ls {spec.name}"
        )
    app.output.line(as_text(entry.value), describe_entry(entry))
