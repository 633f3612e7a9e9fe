"""From a wish to a running capture: checks, the worker, the connector."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from lastword.cdc.postgres.capture import Capture
from lastword.cdc.postgres.capture_spec import CaptureSpec, keep_capture, kept_capture
from lastword.cdc.postgres.check import Finding, check
from lastword.cli.captures.capture_settings import (
    capture_of,
    captures_directory,
    client_of,
    uses_own_worker,
)
from lastword.cli.settings.local_connect import local_worker
from lastword.cli.support.app_context import AppContext
from lastword.connect_worker.worker_info import read_worker
from lastword.errors import CaptureError, ConfigError
from lastword.kafka.admin import Admin


def check_database(app: AppContext, spec: CaptureSpec) -> None:
    """Print what is wrong with the database; raises CaptureError if the capture cannot start."""
    with spec.database.connect() as session:
        found = check(session, spec.source, spec.filter, spec.kept_columns)
    _show(app, found)
    errors = sum(finding.severity == "error" for finding in found)
    if errors:
        raise CaptureError(
            f"{spec.source} cannot be captured yet: {errors} "
            f"{'error' if errors == 1 else 'errors'}, see above",
            hint="run the SQL of each as a role that may, then try again",
        )
    app.output.info(f"{spec.source} at {spec.database.place} can be captured")


def ensure_worker(app: AppContext, spec: CaptureSpec, running: ExitStack | None = None) -> None:
    """Start the worker of this machine, unless it runs or the user has a Connect cluster.

    It stays when the command ends, or ends with ``running``.
    """
    if uses_own_worker(app, spec):
        return
    found = read_worker(app.home)
    if found is not None and found.process.is_running():
        return
    worker = local_worker(app, detached=running is None)
    app.output.info(f"starting Kafka Connect at {worker.url}")
    if running is None:
        worker.start()
    else:
        running.enter_context(worker)


def start_capture(app: AppContext, spec: CaptureSpec) -> Capture:
    """Make publication, topic and connector, whichever is missing; the connector makes the slot.

    A filter or columns that changed since the last start need all rows again, so that is asked for.
    """
    directory = captures_directory(app)
    before = kept_capture(directory, spec.name)
    if before is not None and before.table != spec.table:
        raise ConfigError(
            f"the capture {spec.name!r} is of {before.table}",
            hint=f"choose another name: --as NAME; or end it: lastword cdc remove {spec.name}",
        )
    with Admin(app.connection) as admin:
        _require_same_cluster(app, spec, admin)
        _require_same_kind(spec, admin)
        capture = capture_of(app, spec)
        capture.start(admin)
        if before is not None and before.shape != spec.shape:
            app.output.info(
                f"the filter or the columns of {spec.name} changed: reading all rows again"
            )
            capture.resync(admin)
    keep_capture(directory, spec)  # not before: a start that failed is asked for all rows again
    return capture


def _require_same_cluster(app: AppContext, spec: CaptureSpec, admin: Admin) -> None:
    theirs, ours = client_of(app, spec).kafka_cluster_id(), admin.cluster_id()
    if theirs != ours:
        raise ConfigError(
            f"the Connect worker writes to the Kafka cluster {theirs}, and the table would be in "
            f"{ours}",
            hint="name the same cluster: --bootstrap-servers; or restart the local worker: "
            "lastword connect stop",
        )


def _require_same_kind(spec: CaptureSpec, admin: Admin) -> None:
    """A table with a filter keeps its whole rows in a topic of its own, from the first one on."""
    topics = set(admin.topics())
    if spec.name not in topics:
        return
    had_shape = f"{spec.source.connector}-{spec.name}-rows-changelog" in topics
    if had_shape != (spec.shape != (None, None)):
        raise ConfigError(
            f"the table {spec.name!r} was made {'with' if had_shape else 'without'} a filter or "
            "a choice of columns",
            hint="choose another name for this one: --as NAME",
        )


def _show(app: AppContext, findings: Sequence[Finding]) -> None:
    for finding in findings:
        app.output.line(
            f"{finding.severity}: {finding.what}\n"
            f"  consequence: {finding.consequence}\n"
            f"  repair:      {finding.repair}",
            {
                "severity": finding.severity,
                "what": finding.what,
                "consequence": finding.consequence,
                "repair": finding.repair,
            },
        )
