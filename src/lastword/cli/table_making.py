"""From a table's settings to a ``Table``: one way for commands, ``up`` and ``serve``."""

from __future__ import annotations

from lastword.cli.context import AppContext
from lastword.cli.snapshot_places import root_for_reading
from lastword.cli.table_options import TableSpec
from lastword.codecs.resolve import CodecSpec
from lastword.codecs.windowed import session, windowed
from lastword.errors import ConfigError
from lastword.follow.progress import RestoreListener
from lastword.table.table import Table


def make_table(
    app: AppContext,
    spec: TableSpec,
    *,
    store: str,
    restore_listener: RestoreListener | None = None,
) -> Table:
    """The table of ``spec``, not started yet; ``store`` says where its rows live."""
    return Table(
        spec.topic,
        connection=app.connection,
        key=key_codec_of(spec),
        value=spec.value,
        store=store,
        name=spec.name,
        state_dir=app.state_dir,
        on_bad=spec.on_bad,
        allow_expiry=spec.allow_expiry,
        application_id=app.application_id,
        snapshots=root_for_reading(app, spec),
        restore_listener=restore_listener,
    )


def key_codec_of(spec: TableSpec) -> CodecSpec:
    """The codec of the keys; those of windows have one around their own."""
    if spec.window is None:
        return spec.key
    if spec.window == "session":
        return session(spec.key)
    if spec.window.isdecimal():
        return windowed(spec.key, int(spec.window))
    raise ConfigError(
        f"tables.{spec.name}.window is {spec.window!r}",
        hint="it takes a length in milliseconds, or session",
    )
