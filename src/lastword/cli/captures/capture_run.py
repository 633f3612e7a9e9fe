"""Runs one capture in the foreground: from the worker to the pipeline, until Ctrl-C."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from lastword.cdc.postgres.capture import Capture
from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.cli.captures.capture_mirror import mirror_of, mirror_store
from lastword.cli.captures.capture_progress import CaptureProgress, ProgressThread
from lastword.cli.captures.capture_start import ensure_worker, start_capture
from lastword.cli.captures.capture_watch import inspector_of
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.cli.support.stop_signals import calling_at_signals
from lastword.errors import FencedError
from lastword.kafka.admin import Admin
from lastword.spark.installed import require_spark

if TYPE_CHECKING:
    from lastword.pipelines.run.driver import Mode


def run_capture(app: AppContext, spec: CaptureSpec, mode: Mode) -> None:
    """Returns when the pipeline was stopped; the capture goes on without it."""
    require_spark()
    _ = app.connection  # raises before anything is started
    ensure_worker(app, spec)
    capture = start_capture(app, spec)
    app.output.info(f"capturing {spec.source} into the topic {spec.source.topic}")
    try:
        _mirror(app, spec, capture, mode)
    except FencedError as error:
        raise FencedError(
            str(error), hint=f"one process keeps {spec.name} up to date; stop that one first"
        ) from error
    except BaseException:
        _say_what_stays(app, spec)
        raise
    _say_what_stays(app, spec)


def _mirror(app: AppContext, spec: CaptureSpec, capture: Capture, mode: Mode) -> None:
    # Loads PySpark, which few commands need.
    from lastword.spark.session import session_for

    pipeline = mirror_of(spec)
    pipeline.create_topics(app.connection)
    with Admin(app.connection) as admin:
        resumed = admin.end_offsets(spec.name, [0])[0] > 0
    progress = CaptureProgress(mirror_store(spec), capture.estimated_rows(), resumed=resumed)
    inspector = inspector_of(app, spec, records=True)
    with ExitStack() as running:
        running.enter_context(closing(inspector))
        running.enter_context(ProgressThread(app, progress, inspector.status))
        title = "fetching Spark's Kafka jars (once)"
        report = running.enter_context(progress_bar(app.output, title, announce=True))
        spark = running.enter_context(
            session_for(pipeline.application_id, home=app.home, progress=report)
        )
        running.enter_context(calling_at_signals(pipeline.stop))
        app.output.info(f"{spec.name} runs at {app.connection.bootstrap_servers}. Ctrl-C stops it.")
        pipeline.run(
            spark,
            mode=mode,
            connection=app.connection,
            state_dir=app.state_dir,
            on_batch=progress.batch,
        )


def _say_what_stays(app: AppContext, spec: CaptureSpec) -> None:
    source = spec.source
    app.output.line(
        f"stopped the pipeline of {spec.name}; the capture stays in place.\n"
        f"  The connector {source.connector} goes on to write changes into {source.topic}, and "
        "the same command continues with them.\n"
        f"  To end it and drop the slot {source.slot}: lastword cdc remove {spec.name}",
        {"capture": spec.name, "stopped": True, "connector": source.connector, "slot": source.slot},
    )
