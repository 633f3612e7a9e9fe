"""``lastword watch``: every change as it happens."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import click

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.opening import describe_change, open_table
from lastword.cli.support.output import as_text, as_time
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.window_keys import key_text
from lastword.kafka.admin import Admin
from lastword.records import Position
from lastword.table.entry import Change


@click.command()
@with_table
@click.option(
    "--from",
    "start",
    default="now",
    show_default=True,
    metavar="WHERE",
    help="now, beginning, or a position such as 0:12,1:7.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Stop after this many changes.")
def watch(app: AppContext, spec: TableSpec, start: str, limit: int | None) -> None:
    """Print every change of TABLE, deletes included, until Ctrl-C.

    `--from beginning` starts with the oldest record still in the log: compaction may have removed
    earlier values of a key.
    """
    with open_table(app, spec) as table, table.watch(_position(app, spec.topic, start)) as changes:
        app.output.info(f"watching {spec.topic} from {changes.position}")
        try:
            for change in islice(changes, limit):
                print_change(app, change)
        except KeyboardInterrupt:
            app.output.info("")  # ends the line on which the terminal shows ^C


def print_change(app: AppContext, change: Change, *, table: str | None = None) -> None:
    """One line per change; ``table`` is named where there are several."""
    line, shown = _as_line(change), describe_change(change)
    if table is not None:
        line, shown = f"{table}  {line}", {"table": table, **shown}
    app.output.line(line, shown)


def _position(app: AppContext, topic: str, start: str) -> Position | None:
    if start == "now":
        return None
    asked = None if start == "beginning" else Position.parse(start)
    if asked is not None and asked.topic_id:
        return asked
    with Admin(app.connection) as admin:
        info = admin.describe(topic)
        # Only what is in the log: compaction may have removed earlier changes.
        if asked is not None:
            return replace(asked, topic_id=info.topic_id)
        starts = admin.start_offsets(topic, range(info.partitions))
        return Position(starts, info.topic_id)


def _as_line(change: Change) -> str:
    where = "swept" if change.version is None else str(change.version)
    time = "" if change.timestamp_ms is None else as_time(change.timestamp_ms)
    value = "(deleted)" if change.deleted else as_text(change.value)
    return f"{where}  {time}  {key_text(change.key)}  {value}"
