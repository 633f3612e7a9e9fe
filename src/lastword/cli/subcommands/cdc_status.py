"""``lastword cdc status``: how captures are doing, asked of all who take part."""

from __future__ import annotations

import sys
from contextlib import closing

import click
import msgspec

from lastword.cdc.postgres.capture_document import document_of
from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.cdc.postgres.capture_status import CaptureStatus
from lastword.cli.captures.capture_settings import capture_named, every_capture
from lastword.cli.captures.capture_watch import inspector_of
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.failure import UNREACHABLE_OR_TIMEOUT
from lastword.cli.support.output import as_time
from lastword.cli.support.sizes import as_duration, as_size
from lastword.codecs.row_schema import SchemaChange

_COLUMNS = ("capture", "source", "table", "connector", "phase", "lag", "log kept", "last event")


@click.command()
@with_cluster
@click.argument("name", required=False)
def status(app: AppContext, name: str | None) -> None:
    """Show how the capture NAME is doing; without NAME, all of them.

    The lag is what the database's log has and the connector has not read, and the time since the
    database committed the oldest change that the table lacks. While the connector delivers nothing,
    that time is unknown. The exit status is 0 when all is well, else 3.
    """
    specs = every_capture(app) if name is None else [capture_named(app, name)]
    if not specs:
        app.output.info("no captures yet: lastword cdc postgres URL --table SCHEMA.TABLE")
    found = [_status(app, spec) for spec in specs]
    if app.json_lines:
        app.output.rows((), map(msgspec.to_builtins, map(document_of, found)))
    elif name is None:
        app.output.rows(_COLUMNS, map(_row, found))
    else:
        app.output.details(_row(found[0]) | _more(found[0]))
    for each in found:
        for problem in each.problems:
            app.output.info(f"{each.name}: {problem}")
    if not all(each.is_well for each in found):
        sys.exit(UNREACHABLE_OR_TIMEOUT)


def _status(app: AppContext, spec: CaptureSpec) -> CaptureStatus:
    with closing(inspector_of(app, spec)) as inspector:
        return inspector.status()


def _row(status: CaptureStatus) -> dict[str, object]:
    slot = status.slot
    lag = "unknown" if status.lag_seconds is None else as_duration(status.lag_seconds)
    if slot is not None:
        lag = f"{as_size(slot.lag_bytes)}, {lag}"
    last = status.last_event_ms
    return {
        "capture": status.name,
        "source": status.place,
        "table": status.table,
        "connector": status.connector or "none",
        "phase": status.phase.value,
        "lag": lag,
        "log kept": None if slot is None else as_size(slot.held_bytes),
        "last event": None if last is None else f"{as_time(last)} UTC",
    }


def _more(status: CaptureStatus) -> dict[str, object]:
    slot, schema = status.slot, status.schema
    columns = () if schema is None else schema.columns
    changes = () if schema is None else schema.history
    return {
        "events behind": status.events_behind,
        "slot": "none" if slot is None else "lost" if slot.lost else _connected(slot.active),
        "failure": status.failure,
        "columns": ", ".join(f"{each.name} {each.type}" for each in columns),
        "columns' version": None if schema is None else schema.version,
        **{f"version {each.version}": _change(each) for each in reversed(changes)},
    }


def _change(change: SchemaChange) -> str:
    return f"{as_time(change.at)} UTC: {'; '.join(change.changes)}"


def _connected(active: bool) -> str:
    return "connected" if active else "not connected"
