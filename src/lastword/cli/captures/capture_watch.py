"""Looks at captures: once, or from a thread as long as a service runs."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack

from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.cdc.postgres.capture_status import CaptureInspector, CaptureStatus
from lastword.cdc.postgres.recorded_schema import RecordedSchema
from lastword.cli.captures.capture_settings import capture_of, every_capture
from lastword.cli.support.app_context import AppContext
from lastword.codecs.registry.client import RegistryClient
from lastword.errors import LastwordError


def inspector_of(app: AppContext, spec: CaptureSpec, *, records: bool = False) -> CaptureInspector:
    """Looks at one capture. The process that runs its pipeline ``records`` its columns, too.

    Raises ConnectWorkerError when the worker of this machine is down.
    """
    recorded = RecordedSchema(
        app.connection, spec.name, records=records, registry=registry_of(app) if records else None
    )
    return CaptureInspector(capture_of(app, spec), app.connection, recorded)


def monitor_of(app: AppContext, spec: CaptureSpec, *, records: bool = False) -> CaptureMonitor:
    """Looks at it every few seconds, whatever of it is down."""
    return CaptureMonitor(
        lambda: inspector_of(app, spec, records=records),
        CaptureStatus(spec.name, spec.database.place, str(spec.source)),
    )


def watch_captures(
    app: AppContext, tables: Collection[str], running: ExitStack
) -> list[CaptureMonitor]:
    """Monitor the captures of the settings, and those started here whose table is in ``tables``.

    A service does not fail because of a capture: without psycopg, for instance, none is watched.
    """
    try:
        wanted = {*tables, *app.settings.captures}
        specs = [spec for spec in every_capture(app) if spec.name in wanted]
        monitors = [monitor_of(app, spec) for spec in specs]
    except LastwordError as error:
        app.output.info(f"captures are not monitored here: {error}")
        return []
    return [running.enter_context(monitor) for monitor in monitors]


def registry_of(app: AppContext) -> RegistryClient | None:
    """The registry of the settings, or the one that ``up`` has started; None without either."""
    started = "registry" in vars(app)
    return app.registry.client if started or app.settings["registry.url"] else None
