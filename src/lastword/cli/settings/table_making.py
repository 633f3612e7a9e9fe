"""From a table's settings to a ``Table``: one way for commands, ``up`` and ``serve``."""

from __future__ import annotations

from lastword.cli.settings.snapshot_locations import root_for_reading
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec
from lastword.table.table import Table


def make_table(app: AppContext, spec: TableSpec, *, store: str) -> Table:
    """The table of ``spec``, not started yet; ``store`` says where its rows live."""
    key, value = spec.codecs
    return Table(
        spec.topic,
        connection=app.connection,
        key=key,
        value=value,
        store=store,
        name=spec.name,
        state_dir=app.state_dir,
        on_bad=spec.on_bad,
        allow_expiry=spec.allow_expiry,
        application_id=app.application_id,
        snapshots=root_for_reading(app),
        versions=spec.versions,
        ttl=spec.ttl,
    )
