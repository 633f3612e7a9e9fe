"""``--as-of``: reads of a past moment, shared by the commands that have it."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.snapshots.travel.moments import parse_moment
from lastword.table.past_table import PastTable
from lastword.table.table import Table

as_of_option = click.option(
    "--as-of",
    metavar="MOMENT",
    help="Read as of a time (2026-01-31T12:00:00Z, or milliseconds) or a position (0:12,1:7).",
)


def read_past(app: AppContext, table: Table, moment: str) -> PastTable:
    """The table as it was; exact, or MomentGoneError."""
    at = parse_moment(moment)
    with progress_bar(app.output, f"reading the past of {table.topic}") as report:
        return table.as_of(at, progress=lambda size: report(size, size, "bytes"))
