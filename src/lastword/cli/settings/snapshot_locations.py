"""Where the snapshots of a table are, and whether they can be read here at all."""

from __future__ import annotations

import importlib.util

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec
from lastword.errors import ConfigError
from lastword.home import HomeFolder
from lastword.snapshots.catalog.location import Location


def snapshot_root(app: AppContext) -> str:
    """The root of all snapshots."""
    given = app.settings["snapshots.location"]
    return str(given) if given else str(app.home / HomeFolder.SNAPSHOTS)


def snapshot_location(app: AppContext, spec: TableSpec, flag: str | None = None) -> Location:
    """The location of one table's snapshots."""
    return Location(flag or snapshot_root(app), spec.topic)


def can_read_snapshots() -> bool:
    """Whether the library for it is installed."""
    return importlib.util.find_spec("deltalake") is not None


def root_for_reading(app: AppContext) -> str | None:
    """Where tables look for snapshots, also those made later; None where nothing can read them."""
    return snapshot_root(app) if can_read_snapshots() else None


def location_for_reading(app: AppContext, spec: TableSpec) -> Location | None:
    """The location of one table's snapshots, if there are any by now."""
    where = snapshot_location(app, spec)
    return where if can_read_snapshots() and where.may_hold_any else None


def require_deltalake() -> None:
    """Raise ConfigError unless snapshots can be read here."""
    if not can_read_snapshots():
        raise ConfigError(
            "snapshots need the deltalake library", hint="pip install 'lastword[snapshots]'"
        )
