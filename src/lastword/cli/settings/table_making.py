"""From a table's settings to a ``Table``: one way for commands, ``up`` and ``serve``."""

from __future__ import annotations

from lastword.cli.settings.instance_settings import instance_settings
from lastword.cli.settings.snapshot_locations import root_for_reading
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec
from lastword.table.table import Table
from lastword.writer.write_mode import WriteMode


def make_table(
    app: AppContext, spec: TableSpec, *, store: str, writes: WriteMode, guest: bool = False
) -> Table:
    """The table of ``spec``, not started yet; ``store`` says where its rows live.

    A command that lives for a moment writes as a ``guest``: it moves no partition, and reads the
    whole topic by itself.
    """
    instance = instance_settings(app, guest=guest)
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
        ttl=spec.checked_ttl,
        writes=writes,
        layout="replicated" if guest else spec.layout,
        standbys=spec.standbys,
        max_stale=spec.max_stale,
        instance_id=instance.instance_id,
        peer=instance.peer,
        guest=instance.guest,
        rack=instance.rack,
        weight=instance.weight,
        plan_limits=instance.limits,
        restart_within=instance.restart_within,
        restart_writes=instance.restart_writes,
    )
