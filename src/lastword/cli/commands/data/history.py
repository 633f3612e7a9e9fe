"""``lastword history``: every known change of one key."""

from __future__ import annotations

import click

from lastword.cli.commands.data.log import as_line, describe_record
from lastword.cli.settings.snapshot_locations import location_for_reading
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec, typed, with_table
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import QueryError
from lastword.kafka.admin import Admin
from lastword.keyspace import Keyspace
from lastword.snapshots.travel.key_history import KeyHistory, KeyHistoryReader

_LIMIT = 100


@click.command()
@with_table
@click.argument("key")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_LIMIT,
    help="At most this many changes, the newest.",
    show_default=True,
)
def history(app: AppContext, spec: TableSpec, key: str, limit: int) -> None:
    """Print every known change of KEY in TABLE, the oldest first; exit with 1 when there is none.

    The changes come from the history that `lastword snapshot create --history` keeps, and from the
    log. Compaction may have removed changes before they were kept; the output marks where some may
    be missing.
    """
    keys, values = spec.codecs
    raw = keys.parse(typed(key))
    with Admin(app.connection) as admin:
        reader = KeyHistoryReader(
            admin,
            app.log_source,
            spec.topic,
            location_for_reading(app, spec),
            keyspace=Keyspace(admin.describe(spec.topic).partitions, keys.suffix_bytes),
            clock=SYSTEM_CLOCK,
        )
        found = reader.read(raw)
    if not found.changes:
        raise QueryError(
            f"no change of the key {key!r} in {spec.name} is known",
            hint=f"see its keys: lastword ls {spec.name}",
        )
    first = max(0, len(found.changes) - limit)
    for index in range(first, len(found.changes)):
        shown = describe_record(found.changes[index], keys, values)
        shown["may_lack_some_before"] = lacking = found.may_lack_some_before(index)
        if lacking:
            app.output.info("   ... changes may be missing here")
        app.output.line(as_line(shown), shown)
    _say_what_is_missing(app, found, first)


def _say_what_is_missing(app: AppContext, found: KeyHistory, older: int) -> None:
    if older:
        app.output.info(f"{older} older changes are not shown; see more with --limit")
    if found.complete_from:
        app.output.info(
            f"partition {found.partition}: compaction may have removed changes before offset "
            f"{found.complete_from}"
        )
