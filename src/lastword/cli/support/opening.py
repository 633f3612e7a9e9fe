"""Opens a table: restored to the end with a progress bar, then ready to answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lastword.cli.settings.table_making import make_table
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import ProgressReport, progress_bar
from lastword.cli.support.table_options import TableSpec
from lastword.cli.support.window_keys import key_object
from lastword.replicas.progress import OnProgress, RestoreProgress, offsets_done
from lastword.replicas.sweep.soundness import CONTACT_MAX_S
from lastword.table.entry import Change, Entry
from lastword.table.table import Table
from lastword.writer.write_mode import WriteMode


@contextmanager
def open_table(
    app: AppContext,
    spec: TableSpec,
    *,
    store: str = "memory",
    writes: WriteMode = "direct",
    guest: bool = True,
) -> Iterator[Table]:
    """The table of ``spec``, ready to answer; for one answer, memory is enough."""
    with ExitStack() as opened:
        with progress_bar(app.output, f"restoring {spec.topic}") as report:
            table = make_table(app, spec, store=store, writes=writes, guest=guest)
            opened.callback(table.close)
            table.start()
            table.wait_ready(on_progress=_reporting(report))
        yield table


def warn_if_stale(app: AppContext, *, stale: bool, contact_age_s: float) -> None:
    """Print a note if an answer may be stale."""
    if stale and contact_age_s > CONTACT_MAX_S:
        app.output.info(f"the cluster has not answered for {contact_age_s:.0f} s: this may be old")
    elif stale:
        app.output.info("this answer may include deleted keys: a sweep has not finished yet")


def describe_entry(entry: Entry) -> dict[str, object]:
    """The JSON shape of a key's current record."""
    return {
        "key": key_object(entry.key),
        "value": entry.value,
        "version": str(entry.version),
        "timestamp": entry.timestamp_ms,
        "expires_at": entry.expires_at_ms,
        "headers": [[name, value] for name, value in entry.headers],
    }


def describe_change(change: Change) -> dict[str, object]:
    """The JSON shape of a put or a delete."""
    return {
        "key": key_object(change.key),
        "value": change.value,
        "deleted": change.deleted,
        "version": None if change.version is None else str(change.version),
        "timestamp": change.timestamp_ms,
        "headers": [[name, value] for name, value in change.headers],
    }


def _reporting(report: ProgressReport) -> OnProgress:
    """Adds up the partitions of a restore, and of the sweep that may follow, for one bar."""

    def show(progress: list[RestoreProgress]) -> None:
        done, total = offsets_done(progress)
        report(done, total, "sweeping" if any(each.sweep_offsets for each in progress) else "")

    return show
