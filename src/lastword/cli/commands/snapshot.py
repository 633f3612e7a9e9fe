"""``lastword snapshot``: consistent cuts of a table as versions of a Delta table."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lastword.cli.settings.snapshot_locations import require_deltalake, snapshot_location
from lastword.cli.subcommands.schema_class import type_option, with_class
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.output import as_time
from lastword.cli.support.progress_bar import progress_bar
from lastword.cli.support.stop_signals import calling_at_signals, stop_signals
from lastword.cli.support.table_options import TableSpec, with_table, with_table_offline
from lastword.clock import SYSTEM_CLOCK
from lastword.durations import milliseconds
from lastword.errors import SnapshotError
from lastword.records import Position

if TYPE_CHECKING:
    from lastword.snapshots.catalog.location import Location
    from lastword.snapshots.catalog.snapshot import Snapshot
    from lastword.snapshots.catalog.snapshot_catalog import Catalog
    from lastword.snapshots.jobs.history_job import HistoryReport
    from lastword.snapshots.jobs.snapshot_job import SnapshotReport

_COLUMNS = (
    "number",
    "kind",
    "captured",
    "age_s",
    "rows",
    "size_bytes",
    "position",
    "delta_version",
)

_location = click.option(
    "--location",
    metavar="LOCATION",
    help="A directory or an address such as s3a://bucket/path.  [default: HOME/snapshots]",
)


@click.group()
def snapshot() -> None:
    """Take, list and show snapshots: a table at one position, as a Delta table.

    New instances start from them in seconds, time travel reads them, and so can anything that reads
    Delta. The topic stays the source of truth: snapshots can be deleted.
    """


@snapshot.command()
@with_table
@_location
@type_option
@click.option(
    "--history/--no-history",
    default=None,
    help="Also keep every change, in a history.  [default: snapshots.history, else no]",
)
@click.option(
    "--full",
    is_flag=True,
    help="Read the whole topic, not only what changed; decode the history again if the type of a "
    "column changed.",
)
@click.option("--every", metavar="TIME", help="Take one every 15m, 1h, ... until Ctrl-C.")
@click.option("--keep", metavar="TIME", help="How long to keep old snapshots.  [default: 7d]")
@click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs, as in spark://host:7077.  [default: all cores of this machine]",
)
def create(
    app: AppContext,
    spec: TableSpec,
    *,
    location: str | None,
    target: str | None,
    history: bool | None,
    full: bool,
    every: str | None,
    keep: str | None,
    master: str | None,
) -> None:
    """Take a snapshot of TABLE with Spark.

    The first reads the whole topic; the next ones read only what changed since the last one,
    unless that is older than the topic's delete.retention.ms. Old ones are deleted after --keep.

    With --history all changes since the last run, deletes included, are appended to a second Delta
    table. It is never cleaned, so it keeps changes that compaction removes later.

    Values with a schema are typed columns: those of a registry, or of the class that --type names.
    """
    spec = with_class(spec, target)
    require_deltalake()
    interval_s = None if every is None else milliseconds(every, what="--every") / 1000
    from lastword.snapshots.jobs.snapshot_runs import SnapshotRuns
    from lastword.spark.session import LOCAL_MASTER, session_for

    where = snapshot_location(app, spec, location)
    app.write_for_others(where.root)
    keep_text = keep or str(app.settings["snapshots.keep"])
    with (
        progress_bar(app.output, "fetching Spark's jars (once)", announce=True) as fetching,
        session_for(
            f"snapshot-{spec.topic}",
            home=app.home,
            master=master or LOCAL_MASTER,
            delta_at=where.root,
            progress=fetching,
        ) as spark,
    ):
        runs = SnapshotRuns(
            spark,
            app.connection,
            where,
            key=spec.codecs[0],
            value=spec.codecs[1],
            keep_ms=milliseconds(keep_text, what="the time to keep snapshots"),
            keeps_history=bool(app.settings["snapshots.history"] if history is None else history),
        )

        def take() -> None:
            print_report(app, *runs.take(full=full))

        if interval_s is None:
            _take_unless_signalled(take)
        else:
            _repeat_until_signalled(take, interval_s)


def _take_unless_signalled(take: Callable[[], None]) -> None:
    """Ctrl-C and a polite kill end it; the snapshots before it stay as they are."""
    with stop_signals():
        take()


def _repeat_until_signalled(take: Callable[[], None], interval_s: float) -> None:
    """Ctrl-C and a polite kill end the wait for the next snapshot, not the one at work."""
    from lastword.snapshots.jobs.snapshot_runs import repeat

    stop = threading.Event()
    with calling_at_signals(stop.set):
        repeat(take, interval_s, stop)


@snapshot.command("list")
@with_table_offline
@_location
def list_(app: AppContext, spec: TableSpec, location: str | None) -> None:
    """List the snapshots of TABLE, the newest first."""
    catalog = _catalog(app, spec, location)
    found = catalog.snapshots()
    app.output.rows(_COLUMNS, (_row(catalog, each) for each in found))
    if not found:
        app.output.info(f"{spec.name} has no snapshot; take one: lastword snapshot create")


@snapshot.command()
@with_table_offline
@click.argument("number", type=int, required=False)
@_location
def show(app: AppContext, spec: TableSpec, number: int | None, location: str | None) -> None:
    """Show one snapshot of TABLE, the newest unless a NUMBER is given, and what it changed."""
    from lastword.snapshots.catalog.difference import difference

    catalog = _catalog(app, spec, location)
    found = catalog.snapshots()
    at = next((i for i, each in enumerate(found) if number in (None, each.metadata.number)), None)
    if at is None:
        raise SnapshotError(
            f"{spec.name} has no snapshot{'' if number is None else f' {number}'}",
            hint=f"see those it has: lastword snapshot list {spec.name}",
        )
    this, metadata = found[at], found[at].metadata
    values = _row(catalog, this)
    values |= {
        "topic": metadata.topic,
        "topic_id": metadata.topic_id,
        "cluster_id": metadata.cluster_id,
    }
    values |= {
        "key_codec": metadata.key_codec,
        "value_codec": metadata.value_codec,
        "uri": catalog.uri,
    }
    if at + 1 < len(found) and found[at + 1].metadata.topic_id == metadata.topic_id:
        change = difference(catalog.uri, found[at + 1], this)
        values |= {"keys_added": change.added, "keys_changed": change.changed}
        values |= {"keys_removed": change.removed}
    app.output.details(values | _history(snapshot_location(app, spec, location)))


def _history(where: Location) -> dict[str, object]:
    """How far the history goes, and from where on nothing can be missing in it."""
    from lastword.snapshots.travel.history import History

    newest = next(iter(History(where.history).commits()), None)
    if newest is None:
        return {}
    return {
        "history_uri": where.history,
        "history_position": str(Position(newest.metadata.offsets)),
        "history_complete_from": str(Position(newest.complete_from)),
    }


def _catalog(app: AppContext, spec: TableSpec, location: str | None) -> Catalog:
    require_deltalake()
    from lastword.snapshots.catalog.snapshot_catalog import Catalog

    return Catalog(snapshot_location(app, spec, location).snapshots)


def _row(catalog: Catalog, snapshot: Snapshot) -> dict[str, object]:
    metadata, size = snapshot.metadata, catalog.size(snapshot)
    return {
        "number": metadata.number,
        "kind": metadata.kind,
        "captured": as_time(metadata.captured_at_ms),
        "age_s": (SYSTEM_CLOCK.now_ms() - metadata.captured_at_ms) // 1000,
        "rows": size.rows,
        "size_bytes": size.size_bytes,
        "position": str(snapshot.position),
        "delta_version": snapshot.delta_version,
        "sound": snapshot.sound,
        "exact": snapshot.exact,
    }


def print_report(app: AppContext, report: SnapshotReport, history: HistoryReport | None) -> None:
    """Say what a snapshot came to, and the history beside it."""
    metadata = report.snapshot.metadata
    kept = "" if history is None else f"; {history.records:,} changes appended to the history"
    if report.column_changes:
        kept += f"; columns: {', '.join(report.column_changes)}"
    if report.unfit:
        kept += f"; {report.unfit:,} keys or values cannot be decoded, their bytes are kept"
    app.output.line(
        f"snapshot {metadata.number} of {metadata.topic}: {report.rows:,} rows at "
        f"{report.snapshot.position}; {report.kind} ({report.reason}), {report.records:,} records "
        f"({report.bytes:,} bytes) read in {report.seconds:.1f} s{kept}",
        {
            "number": metadata.number,
            "topic": metadata.topic,
            "kind": report.kind,
            "reason": report.reason,
            "position": str(report.snapshot.position),
            "delta_version": report.snapshot.delta_version,
            "rows": report.rows,
            "unfit": report.unfit,
            "column_changes": report.column_changes,
            "records": report.records,
            "bytes": report.bytes,
            "files_deleted": report.files_deleted,
            "seconds": round(report.seconds, 3),
            "history_records": None if history is None else history.records,
        },
    )
