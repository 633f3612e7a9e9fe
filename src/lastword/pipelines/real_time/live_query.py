"""The driver's side of real-time mode: a Spark job of long tasks, restarted when it fails."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.pipelines.graph.own_topics import partitions_of
from lastword.pipelines.real_time.live_task import LiveOrder, run_live
from lastword.pipelines.real_time.restarts import Restarts
from lastword.pipelines.real_time.switchboard import Switchboard
from lastword.pipelines.real_time.task_count import TaskCount
from lastword.pipelines.run.continuity import check_continuity, starting_offsets
from lastword.pipelines.run.part_query import PartQuery, QueryInputs
from lastword.pipelines.task.run_task import partitions_added
from lastword.pipelines.task.task_report import TaskReport
from lastword.records import TopicPartition
from lastword.spark.slots import Slots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_REPORT_S = 1.0
_LOOK_S = 10.0
_STOP_S = 10.0
_CANCEL_S = 30.0


class LiveQuery(PartQuery):
    """Runs one part in real-time mode; a ``Query`` of the supervisor.

    It uses its share of ``slots``. If there are fewer than partitions, a task has several.
    """

    def __init__(self, inputs: QueryInputs, *, slots: Slots) -> None:
        super().__init__(inputs)
        self._tasks = TaskCount(slots, inputs.plan.partitions, self._clock)
        self._resizing = threading.Event()
        self._failure: Exception | None = None
        self._lock = threading.Lock()
        self._board: Switchboard | None = None
        self._reports: list[TaskReport] = []
        self._runner = threading.Thread(target=self._run, name="real-time", daemon=True)
        self._reporter = threading.Thread(target=self._report, name="real-time-report", daemon=True)

    def start(self, scratch: Path) -> None:
        """Start; raises PipelineError if results and positions do not belong together."""
        with Admin(self._plan.connection) as admin:
            check_continuity(admin, self._log_source, self._plan, self._committed())
        self._runner.start()
        self._reporter.start()

    @property
    def is_active(self) -> bool:
        """Whether it was started and has not ended."""
        return self._runner.is_alive() and self._failure is None

    @property
    def failure(self) -> Exception | None:
        """The error that ended it; None if it did not fail."""
        return self._failure

    def stop(self) -> None:
        """Make the tasks end after their current commit; idempotent."""
        self._stopping.set()
        self._stop_tasks()
        if self._runner.ident is None:
            return
        self._runner.join(_STOP_S)
        if self._runner.is_alive():
            self._spark.sparkContext.cancelJobGroup(self._job_group)
            self._runner.join(_CANCEL_S)
        self._reporter.join(_STOP_S)
        self._tell()

    @property
    def _job_group(self) -> str:
        return f"lastword-{self._plan.application_id}-{self._plan.name}"

    def _run(self) -> None:
        """Run a job until it ends by itself, and another one with another number of tasks when
        that has become outdated. Spark counts the failures of a task over its whole life, so a
        failed job is restarted, a limited number of times.
        """
        restarts = Restarts(self._clock)
        while not self._stopping.is_set():
            try:
                self._run_job()
            except Exception as error:  # noqa: BLE001 - whatever Spark raises for a failed job
                if self._stopping.is_set():
                    return
                pause_s = restarts.pause_after(error)
                if pause_s is None:
                    self._failure = error
                    return
                log.warning("a job of %s failed and is restarted: %s", self._plan.name, error)
                self._stopping.wait(pause_s)
            else:
                if not self._resizing.is_set():
                    return

    def _run_job(self) -> None:
        context = self._spark.sparkContext
        self._resizing.clear()
        host, bind = _driver_hosts(self._spark)
        with Switchboard(host, self._group_metadata, self._heard, bind=bind) as board:
            order = self._order(board)
            with self._lock:
                self._board = board
            if self._stopping.is_set():
                return
            title = f"{self._plan.application_id}: {self._plan.name}, in real time"
            context.setJobGroup(self._job_group, title, interruptOnCancel=True)
            task = functools.partial(run_live, plan=self._plan, order=order)
            count = len(order.partitions)
            self._spark.range(0, count, 1, count).mapInArrow(task, "id long").collect()

    def _order(self, board: Switchboard) -> LiveOrder:
        with Admin(self._plan.connection) as admin:
            starts = starting_offsets(admin, self._plan, self._committed())
            until = None
            if self._once:
                until = {
                    TopicPartition(topic, partition): offset
                    for topic in self._plan.sources
                    for partition, offset in admin.stable_offsets(
                        topic, range(self._plan.partitions)
                    ).items()
                }
        places = {
            TopicPartition(topic, partition): offset
            for topic, offsets in starts.items()
            for partition, offset in offsets.items()
        }
        tasks = self._tasks.choose()
        groups = tuple(tuple(range(first, self._plan.partitions, tasks)) for first in range(tasks))
        interval_s = self._commit_interval_ms / 1000
        return LiveOrder(board.address, board.token, groups, places, interval_s, until)

    def _stop_tasks(self) -> None:
        with self._lock:
            board = self._board
        if board is not None:
            board.stop_tasks()

    def _heard(self, reports: Sequence[TaskReport]) -> None:
        with self._lock:
            self._reports += reports

    def _report(self) -> None:
        """Send one report of all tasks about once a second, and sometimes check the sources."""
        looked_at = self._clock.monotonic()
        while self.is_active and not self._stopping.wait(_REPORT_S):
            try:
                self._tell()
                self._resize()
                if self._clock.monotonic() - looked_at >= _LOOK_S:
                    looked_at = self._clock.monotonic()
                    self._look_at_topics()
            except Exception as error:  # noqa: BLE001 - on_batch is the user's
                self._failure = error

    def _resize(self) -> None:
        """Have another job started if the slots have changed; what is committed stays so."""
        if self._tasks.is_outdated() and not self._resizing.is_set():
            log.info("Spark's slots have changed: %s gets a new job", self._plan.name)
            self._resizing.set()
            self._stop_tasks()

    def _look_at_topics(self) -> None:
        try:
            self._purge.if_due()
            with Admin(self._plan.connection) as admin:
                found = partitions_of(admin, self._plan.sources)
        except LastwordError as error:
            log.debug("cannot look up the topics of %s: %s", self._plan.name, error)
        else:
            if found != self._plan.partitions:
                raise partitions_added(self._plan)

    def _tell(self) -> None:
        with self._lock:
            reports, self._reports = self._reports, []
        if reports:
            self._on_batch(self._totals.add_up(reports, _REPORT_S))


def _driver_hosts(spark: SparkSession) -> tuple[str, str]:
    """The host under which executors reach Spark's driver, and the one to which that binds."""
    conf = spark.sparkContext.getConf()
    host = conf.get("spark.driver.host") or "127.0.0.1"
    return host, conf.get("spark.driver.bindAddress") or host
