"""``lastword tables`` and ``lastword describe``: how tables are written, by whom, how large."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import msgspec

from lastword.catalog.catalog import write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.cli.subcommands.schema_class import type_option, with_class
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.cataloging import entry_of_table
from lastword.cli.support.sizes import as_size
from lastword.cli.support.table_options import TableSpec, table_spec, with_table
from lastword.codecs.versions import value_schema
from lastword.errors import LastwordError
from lastword.expiry import ttl_ms_of
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes

_COLUMNS = ("table", "topic", "key", "value", "window", "mount", "written_by", "description")


@click.command()
@with_cluster
def tables(app: AppContext) -> None:
    """List the tables of the catalog and of lastword.toml, and how they are written.

    Pipelines add their results to the catalog; `lastword topic create` and `lastword describe
    --save` add other tables.
    """
    with Admin(app.connection) as admin:
        there = set(admin.topics())
    named = [table_spec(app, name) for name in app.settings.tables]
    of_file = {spec.topic for spec in named}
    specs = named + [table_spec(app, topic) for topic in sorted(app.catalog.keys() - of_file)]
    rows = [_row(app, spec) for spec in specs]
    count = app.output.rows(_COLUMNS, rows)
    for spec in specs:
        if spec.topic not in there:
            app.output.info(f"{spec.name}: there is no topic {spec.topic} now")
    if not count:
        app.output.info("the catalog is empty, and lastword.toml has no tables")


def _row(app: AppContext, spec: TableSpec) -> dict[str, object]:
    entry = app.catalog.get(spec.topic)
    return {
        "table": spec.name,
        "topic": spec.topic,
        "key": spec.key,
        "value": spec.value,
        "window": spec.window,
        "mount": spec.mount,
        "written_by": None if entry is None else entry.written_by,
        "description": None if entry is None else entry.description or None,
    }


@click.command()
@with_table
@click.option(
    "--mount",
    metavar="PATH",
    help="The path at which the service offers it; '' for none. With --save.",
)
@click.option(
    "--description", metavar="TEXT", help="What the table is for; '' for none. With --save."
)
@click.option(
    "--ttl",
    metavar="DURATION",
    help="The time to live that writes get, as in 30d; '' for none. With --save.",
)
@click.option(
    "--subject",
    metavar="NAME",
    help="The subject of the values' schema.  [default: <topic>-value]",
)
@click.option(
    "--key-subject",
    metavar="NAME",
    help="The subject of the keys' schema.  [default: <topic>-key]",
)
@click.option(
    "--message",
    metavar="NAME",
    help="The Protobuf message that values are.  [default: the first of their schema]",
)
@type_option
@click.option("--save", is_flag=True, help="Write this into the catalog.")
def describe(
    app: AppContext,
    spec: TableSpec,
    /,
    *,
    mount: str | None,
    description: str | None,
    ttl: str | None,
    target: str | None,
    save: bool,
    **schema: str | None,
) -> None:
    """Describe TABLE: codecs, windows, who writes it, settings, sizes and schema.

    With --save, the combined result of flags, lastword.toml and the catalog is stored in the
    catalog, where every command finds it.
    """
    named: dict[str, Any] = {name: value for name, value in schema.items() if value is not None}
    spec = with_class(replace(spec, **named), target)
    spec.codecs  # noqa: B018 - refuses codecs that do not exist
    entry = app.catalog.get(spec.topic, CatalogEntry())
    given = {"mount": mount, "description": description, "ttl": ttl}
    given = {name: value for name, value in given.items() if value is not None}
    if save or given:
        _require_save(save)
        if ttl:
            ttl_ms_of(ttl)
        entry = entry.updated(msgspec.structs.replace(entry_of_table(app, spec), **given))
        write_entries(app.connection, app.log_source, {spec.topic: entry})
        spec = replace(spec, mount=entry.mount or None, ttl=entry.ttl or None)
    shown = _described(app, spec, entry)
    if not app.output.json_lines:
        shown = {
            name: value
            for name, value in shown.items()
            if value is not None or not name.startswith("schema")
        }
    app.output.details(shown)


def _require_save(save: bool) -> None:
    if not save:
        raise click.UsageError("--mount, --description and --ttl are written with --save only.")


def _described(app: AppContext, spec: TableSpec, entry: CatalogEntry) -> dict[str, object]:
    with Admin(app.connection) as admin:
        info, settings = admin.describe(spec.topic), admin.settings(spec.topic)
        bounds = admin.bounds(spec.topic, range(info.partitions))
    return {
        "table": spec.name,
        "topic": spec.topic,
        "key": spec.key,
        "value": spec.value,
        "window": spec.window,
        "key_subject": spec.key_subject,
        "message": spec.message,
        "mount": spec.mount,
        "ttl": spec.ttl,
        "owned_by": spec.owned_by,
        "written_by": entry.written_by,
        "description": entry.description or None,
        "by_catalog": ", ".join(sorted(spec.by_catalog)) or None,
        "topic_id": info.topic_id,
        "partitions": info.partitions,
        "replication": info.replication,
        "cleanup_policy": settings["cleanup.policy"],
        "delete_retention_ms": int(settings["delete.retention.ms"]),
        "offsets": sum(each.end - each.start for each in bounds.values()),
        "size": _size(app, spec.topic, info.partitions),
        **_schema(app, spec),
    }


def _schema(app: AppContext, spec: TableSpec) -> dict[str, object]:
    """The schema of the values, as the dashboard shows it; None for values without one."""
    found = None
    try:
        found = value_schema(spec.codecs[1])
    except LastwordError as error:
        app.output.info(f"the schema of {spec.name} is not known: {error}")
    versions = () if found is None else found.versions
    newest = versions[-1] if versions else None
    return {
        "schema_subject": None if found is None else found.subject,
        "schema_kind": None if newest is None else newest.kind,
        "schema_version": None if newest is None else newest.version.number,
        "schema_id": None if newest is None else newest.version.schema_id,
        "schema_versions": [each.version.number for each in versions] or None,
        "schema": None if newest is None else newest.text,
    }


def _size(app: AppContext, topic: str, partitions: int) -> str | None:
    """Of the largest replica of each partition; None where the brokers do not tell."""
    try:
        sizes = replica_sizes(app.connection, topic, partitions)
    except LastwordError:
        return None
    largest: dict[int, int] = {}
    for each in sizes:
        largest[each.partition] = max(largest.get(each.partition, 0), each.size_bytes)
    return as_size(sum(largest.values()))
