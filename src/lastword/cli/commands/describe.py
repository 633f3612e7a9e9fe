"""``lastword describe``: how a table is written, by whom, and how large it is."""

from __future__ import annotations

import click

from lastword.catalog.catalog import write_entries
from lastword.catalog.entry import CatalogEntry
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.sizes import as_size
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes


@click.command()
@with_table
@click.option("--mount", metavar="PATH", help="Where the service has it; with --save.")
@click.option("--description", metavar="TEXT", help="What it is for; with --save.")
@click.option("--save", is_flag=True, help="Write this into the catalog.")
def describe(
    app: AppContext, spec: TableSpec, *, mount: str | None, description: str | None, save: bool
) -> None:
    """Describe TABLE: codecs, windows, who writes it, settings and sizes.

    With --save, what flags, lastword.toml and the catalog say of it is written into the catalog,
    from where every command reads it.
    """
    spec.codecs  # noqa: B018 - refuses codecs that do not exist
    entry = app.catalog.get(spec.topic, CatalogEntry())
    if save or mount or description:
        _require_save(save)
        entry = entry.updated(
            CatalogEntry(
                key=spec.key,
                value=spec.value,
                window=spec.window,
                mount=mount or spec.mount,
                ttl=spec.ttl,
                description=description,
            )
        )
        write_entries(app.connection, app.log_source, {spec.topic: entry})
    app.output.details(_described(app, spec, entry))


def _require_save(save: bool) -> None:
    if not save:
        raise click.UsageError("--mount and --description are written with --save only.")


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
        "mount": entry.mount or spec.mount,
        "ttl": spec.ttl,
        "written_by": entry.written_by,
        "description": entry.description,
        "by_catalog": ", ".join(sorted(spec.by_catalog)) or None,
        "topic_id": info.topic_id,
        "partitions": info.partitions,
        "replication": info.replication,
        "cleanup_policy": settings["cleanup.policy"],
        "delete_retention_ms": int(settings["delete.retention.ms"]),
        "offsets": sum(each.end - each.start for each in bounds.values()),
        "size": _size(app, spec.topic, info.partitions),
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
