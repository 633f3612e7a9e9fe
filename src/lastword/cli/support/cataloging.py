"""Changes of the catalog by commands that do something else first."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.catalog.catalog import write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec
from lastword.errors import LastwordError


def entry_of_table(app: AppContext, spec: TableSpec) -> CatalogEntry:
    """What flags, settings and the catalog together say of a table."""
    known = app.catalog.get(spec.topic)
    was_owned = known is not None and known.owned_by is not None
    return CatalogEntry(
        key=spec.key,
        value=spec.value,
        window=spec.window,
        subject=spec.subject,
        key_subject=spec.key_subject,
        message=spec.message,
        mount=spec.mount,
        ttl=spec.ttl,
        owned_by=spec.owned_by or ("" if was_owned else None),
    )


def put_into_catalog(app: AppContext, topic: str, entry: CatalogEntry) -> None:
    """Add a topic to the catalog; if that fails, print a note."""
    try:
        write_entries(app.connection, app.log_source, {topic: entry})
    except LastwordError as error:
        app.output.info(f"could not add {topic} to the catalog: {error}")


def record_owners(app: AppContext, specs: Sequence[TableSpec]) -> None:
    """Say in the catalog which of these tables this application owns, and which no more.

    Commands then know it, too. A catalog that cannot be written is reported, and stops nothing.
    """
    entries: dict[str, CatalogEntry | None] = {}
    for spec in specs:
        known = app.catalog.get(spec.topic, CatalogEntry()).owned_by or ""
        owner = app.application_id if spec.writes == "owned" else ""
        if known not in (owner, app.application_id, ""):
            if not owner:
                continue  # another application's
            app.output.info(
                f"warning: the catalog says that {known} owns the writes of {spec.topic}"
            )
        if known != owner:
            entries[spec.topic] = CatalogEntry(owned_by=owner)
    if not entries:
        return
    try:
        write_entries(app.connection, app.log_source, entries)
    except LastwordError as error:
        topics = ", ".join(sorted(entries))
        app.output.info(f"could not say in the catalog who owns the writes of {topics}: {error}")


def take_out_of_catalog(app: AppContext, topic: str) -> None:
    """Remove a deleted topic from the catalog."""
    try:
        if topic in app.catalog:
            write_entries(app.connection, app.log_source, {topic: None})
    except LastwordError as error:
        app.output.info(f"could not remove {topic} from the catalog: {error}")
