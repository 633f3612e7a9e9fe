"""The snapshots of ``lastword up``: of each table that asks for them, one after the other."""

from __future__ import annotations

import threading
from typing import Any

from lastword.cli.commands.snapshot import print_report
from lastword.cli.settings.snapshot_locations import require_deltalake, snapshot_location
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import TableSpec
from lastword.durations import milliseconds
from lastword.errors import LastwordError
from lastword.spark.installed import require_spark


class ContinuousSnapshots:
    """Takes a snapshot of one table every so often until it is stopped.

    A failed one is reported and leaves the last one as it is; the next is taken when it is due.
    """

    def __init__(self, app: AppContext, spec: TableSpec) -> None:
        require_spark()
        require_deltalake()
        self.name = spec.name
        self._app = app
        self._spec = spec
        what = f"tables.{spec.name}.snapshot_every"
        self._interval_s = milliseconds(spec.snapshot_every or "", what=what) / 1000
        keep = str(app.settings["snapshots.keep"])
        self._keep_ms = milliseconds(keep, what="snapshots.keep")
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Take no further snapshot; a running one is finished."""
        self._stopping.set()

    def run(self, spark: Any) -> None:
        """Returns once ``stop`` was called."""
        from lastword.snapshots.jobs.snapshot_runs import SnapshotRuns, repeat

        runs = SnapshotRuns(
            spark,
            self._app.connection,
            snapshot_location(self._app, self._spec),
            key=self._spec.codecs[0],
            value=self._spec.codecs[1],
            keep_ms=self._keep_ms,
            keeps_history=bool(self._app.settings["snapshots.history"]),
        )

        def take() -> None:
            try:
                print_report(self._app, *runs.take())
            except LastwordError as error:
                self._app.output.info(f"{self.name} has no new snapshot: {error}")

        repeat(take, self._interval_s, self._stopping)


def snapshots_of(app: AppContext, specs: list[TableSpec]) -> list[ContinuousSnapshots]:
    """One for each table whose settings ask for snapshots."""
    return [ContinuousSnapshots(app, spec) for spec in specs if spec.snapshot_every is not None]
