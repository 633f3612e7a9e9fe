"""The captures of ``lastword up``: started with it, and watched while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.cli.captures.capture_start import check_database, ensure_worker, start_capture
from lastword.cli.captures.capture_watch import monitor_of
from lastword.cli.support.app_context import AppContext


def start_captures(
    app: AppContext, specs: Sequence[CaptureSpec], running: ExitStack
) -> list[CaptureMonitor]:
    """Check the databases, start the worker and the connectors; all of it ends with ``running``."""
    monitors = []
    for spec in specs:
        check_database(app, spec)
        ensure_worker(app, spec, running)
        start_capture(app, spec)
        monitors.append(running.enter_context(monitor_of(app, spec, records=True)))
        app.output.line(
            f"capturing {spec.source} at {spec.database.place} as {spec.name}",
            {"capture": spec.name, "source": spec.database.place, "table": str(spec.source)},
        )
    if specs:
        names = ", ".join(spec.name for spec in specs)
        running.callback(
            app.output.info,
            f"the captures stay: {names}. Without a Connect worker, the databases keep their log "
            "for them. To end one: lastword cdc remove NAME",
        )
    return monitors
