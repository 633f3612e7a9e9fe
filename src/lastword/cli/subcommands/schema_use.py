"""``lastword schema check`` and ``rewrite``: the versions that live keys hold."""

from __future__ import annotations

import click

from lastword.cli.subcommands.schema_class import type_option, with_class
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.opening import open_table
from lastword.cli.support.output import as_text
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.window_keys import key_object
from lastword.codecs.versions import ValueVersion
from lastword.table.schemas.held_versions import count_versions, entries_of, versioned
from lastword.table.schemas.rewriting import rewrite as rewrite_table

_COLUMNS = ("version", "schema_id", "keys", "newest")


@click.command()
@with_table
@type_option
@click.option("--version", type=int, help="List the keys that hold this version instead.")
def check(app: AppContext, spec: TableSpec, target: str | None, version: int | None) -> None:
    """Count the live keys of TABLE by the schema version of their values.

    Reads the whole table. Values of a registry have the version of their subject; JSON and
    msgpack values that of their class.
    """
    spec = with_class(spec, target)
    codec = versioned(spec.codecs[1])
    with open_table(app, spec) as table:
        if version is not None:
            for entry in entries_of(table.raw, codec, version):
                keys = spec.codecs[0]
                key = keys.decode(keys.joined(entry.key, entry.headers))
                shown = {"key": key_object(key), "version": str(entry.version)}
                app.output.line(as_text(key_object(key)), shown)
            return
        counts = count_versions(table.raw, codec)
    if codec.newest() == ValueVersion(None):
        app.output.info("only the class knows which version is the newest: give --type")
    app.output.rows(
        _COLUMNS,
        [
            {
                "version": None if each.version is None else each.version.number,
                "schema_id": None if each.version is None else each.version.schema_id,
                "keys": each.keys,
                "newest": each.newest,
            }
            for each in counts
        ],
    )


@click.command()
@with_table
@type_option
@click.option("--dry-run", is_flag=True, help="Count what would be written, and write nothing.")
def rewrite(app: AppContext, spec: TableSpec, target: str | None, dry_run: bool) -> None:
    """Write the values of older schema versions again, as the newest version.

    On a table whose writes are owned, each key is compared first, so that no concurrent write is
    lost. On any other table, let nobody else write meanwhile. Timestamps and headers stay.
    """
    spec = with_class(spec, target)
    codec = versioned(spec.codecs[1])
    codec.newest()
    conditional = spec.writes != "direct"
    if not conditional and not dry_run:
        app.output.info(
            f"{spec.name} has no owners: a write to a key while it is rewritten can be lost"
        )
    with open_table(app, spec, writes=spec.writes) as table:
        done = rewrite_table(table.raw, codec, conditional=conditional, dry_run=dry_run)
    for key, why in done.failures:
        app.output.info(f"{as_text(key)}: {why}")
    app.output.details(
        {
            "written": done.written,
            "current": done.current,
            "skipped": done.skipped,
            "failed": done.failed,
            "dry_run": dry_run,
        }
    )
    if done.failed:
        raise click.exceptions.Exit(1)
