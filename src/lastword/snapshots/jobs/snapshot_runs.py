"""Takes snapshots, with the history beside them if one is kept: once, or at an interval."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.resolve import CodecSpec
from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.jobs.history_job import HistoryJob, HistoryReport
from lastword.snapshots.jobs.snapshot_job import SnapshotJob, SnapshotReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SnapshotRuns:
    """The snapshot job of one topic and, with ``keeps_history``, its history job."""

    def __init__(
        self,
        spark: SparkSession,
        connection: Connection,
        location: Location,
        *,
        key: CodecSpec,
        value: CodecSpec,
        keep_ms: int,
        keeps_history: bool,
    ) -> None:
        self._job = SnapshotJob(spark, connection, location, key=key, value=value, keep_ms=keep_ms)
        self._history = (
            HistoryJob(spark, connection, location, key=key, value=value) if keeps_history else None
        )

    def take(self, *, full: bool = False) -> tuple[SnapshotReport, HistoryReport | None]:
        """Take one snapshot, then append to the history; raises SnapshotError.

        ``full`` reads the whole topic, and writes the history again if its columns need it.
        """
        report = self._job.run(full=full)
        return report, None if self._history is None else self._history.run(full=full)


def repeat(
    take: Callable[[], None],
    interval_s: float,
    stopping: threading.Event,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Call ``take`` now and then once per interval, measured from start to start.

    A call that takes longer than the interval is followed by the next at once. Returns after the
    call in progress once ``stopping`` is set.
    """
    while not stopping.is_set():
        began = clock.monotonic()
        take()
        stopping.wait(max(0.0, began + interval_s - clock.monotonic()))
