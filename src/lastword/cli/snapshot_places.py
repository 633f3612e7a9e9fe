"""Where the snapshots of a table are, and whether they can be read here at all."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from lastword.cli.context import AppContext
from lastword.cli.table_options import TableSpec
from lastword.errors import ConfigError
from lastword.snapshots.location import Location


def snapshot_root(app: AppContext) -> str:
    """The place of all snapshots."""
    given = app.settings["snapshots.location"]
    return str(given) if given else str(app.home / "snapshots")


def snapshot_location(app: AppContext, spec: TableSpec, flag: str | None = None) -> Location:
    """The place of one table's snapshots."""
    return Location(flag or snapshot_root(app), spec.topic)


def can_read_snapshots() -> bool:
    """Whether the library for it is installed."""
    return importlib.util.find_spec("deltalake") is not None


def root_for_reading(app: AppContext, spec: TableSpec) -> str | None:
    """Where a table may find snapshots to start from; None where there are none to look at.

    Looking loads the library, which would slow down each command of those who have no snapshots.
    """
    root, place = snapshot_root(app), snapshot_location(app, spec)
    there = "://" in root or Path(place.snapshots).is_dir()
    return root if there and can_read_snapshots() else None


def location_for_reading(app: AppContext, spec: TableSpec) -> Location | None:
    """The same, as the place of the one table."""
    return None if root_for_reading(app, spec) is None else snapshot_location(app, spec)


def require_deltalake() -> None:
    """Raise ConfigError unless snapshots can be read here."""
    if not can_read_snapshots():
        raise ConfigError(
            "snapshots need the deltalake library", hint="pip install 'lastword[snapshots]'"
        )
