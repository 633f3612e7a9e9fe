"""Pipelines in real-time mode: the results of micro-batches, also when processes are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lastword.errors import ConfigError, PipelineError
from lastword.pipelines import BatchReport, Pipeline, tumbling
from lastword.pipelines.api.result import Result
from lastword.testing.waiting import wait_until
from tests.support.on_spark.pipelines import Bench, Written, counts_of

# `make soak` asks for more.
KILLS = int(os.environ.get("LASTWORD_TEST_KILLS", "3"))
MODE = "real-time"


def events(count: int, first: int = 0) -> list[Written]:
    return [(f"u{i * 7 % 50}", {"n": i}, i) for i in range(first, first + count)]


def counting(bench: Bench) -> tuple[Pipeline, Result]:
    app = bench.pipeline()
    return app, app.stream(bench.source).group_by_key().count("counts")


@contextmanager
def running(app: Pipeline, spark: SparkSession) -> Iterator[list[BatchReport]]:
    """The pipeline in real time on a thread; raises what it raised."""
    reports: list[BatchReport] = []
    failures: list[Exception] = []

    def run() -> None:
        try:
            app.run(spark, mode=MODE, commit_interval="50ms", on_batch=reports.append)
        except Exception as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield reports
    finally:
        app.stop()
        thread.join(180)
    assert not thread.is_alive()
    if failures:
        raise failures[0]


def test_a_restart_may_change_the_mode_both_ways(bench: Bench, spark: SparkSession) -> None:
    for round_number, mode in enumerate(("micro-batch", MODE, "micro-batch")):
        bench.write(events(200, 200 * round_number))
        app, counts = counting(bench)
        reports: list[BatchReport] = []
        app.run(spark, once=True, mode=mode, on_batch=reports.append)  # type: ignore[arg-type]
        assert bench.table(counts) == counts_of(events(200 * (round_number + 1)))
        assert sum(report.tally.records for report in reports) == 200
        assert sum(report.tally.restored for report in reports) == 0


def test_several_parts_windows_joins_and_topics_give_what_batches_give(
    bench: Bench, spark: SparkSession
) -> None:
    other = bench.add_source(f"{bench.source}-b")
    table = f"{bench.source}-table"
    bench.admin.create(table, partitions=3, replication=1, settings={"cleanup.policy": "compact"})
    bench.write([(f"u{n}", {"name": n}, 0) for n in range(50)], table)
    bench.write(events(300))
    bench.write(events(300, 300), other)
    found = []
    for mode in ("micro-batch", MODE):
        app = Pipeline(
            f"{mode}-{bench.source}",
            connection=bench.connection,
            state_dir=bench.directory / mode,
        )
        whole = app.stream(bench.source).map_values(failing_at_seven)
        both = whole.merge(app.stream(other))
        joined = both.join(table, lambda event, row: {**event, **row}, "rows")
        sums = joined.group_by_key().sum("name", "sums")
        final = both.group_by_key().windowed_by(tumbling(100)).count("windows").suppress()
        rekeyed = both.select_key(lambda key, value: f"n{value['n'] % 5}")
        by_rest = rekeyed.group_by_key().count("by-rest")
        reports: list[BatchReport] = []
        app.run(spark, once=True, mode=mode, on_batch=reports.append)  # type: ignore[arg-type]
        bad = sum(report.tally.quarantined for report in reports)
        found.append([bad, *(bench.table(each) for each in (sums, final, by_rest))])
    assert found[0] == found[1]
    assert all(found[0])


def failing_at_seven(value: Any) -> Any:
    """A function of the user that cannot deal with one of the events."""
    if value["n"] == 7:
        raise ValueError("seven")
    return value


def test_a_killed_worker_process_costs_and_doubles_nothing(
    bench: Bench, spark: SparkSession
) -> None:
    app, counts = counting(bench)
    app.create_topics()
    total = 100
    bench.write(events(total))
    with running(app, spark) as reports:
        wait_until(lambda: bench.table(counts) == counts_of(events(total)), what="the first")
        for _ in range(KILLS):
            killed = kill_a_worker()
            bench.write(events(100, total))
            total += 100
            wait_until(
                lambda: bench.table(counts) == counts_of(events(total)),  # noqa: B023 - at once
                what=f"the records after {killed} was killed",
            )
    assert sum(report.tally.records for report in reports) <= total
    jobs = spark.sparkContext.statusTracker()
    assert jobs.getActiveJobsIds() == []
    last = jobs.getJobInfo(
        max(jobs.getJobIdsForGroup(f"lastword-app-{bench.source}-{bench.source}"))
    )
    assert last is not None
    assert last.status == "SUCCEEDED", "tasks end by themselves when the pipeline is stopped"


def kill_a_worker() -> int:
    """One of the Python processes that run tasks of this test's Spark."""
    found = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[1:]
    rows = [
        (int(pid), int(ppid), args) for pid, ppid, args in (each.split(None, 2) for each in found)
    ]
    java = [pid for pid, ppid, _ in rows if ppid == os.getpid()]
    daemons = [pid for pid, ppid, args in rows if ppid in java and "worker_daemon" in args]
    workers = [pid for pid, ppid, _ in rows if ppid in daemons]
    chosen = random.choice(workers)
    os.kill(chosen, signal.SIGKILL)
    return chosen


def test_a_task_that_fails_whenever_it_is_tried_ends_the_run_with_its_reason(
    bench: Bench, spark: SparkSession
) -> None:
    bench.write([("a", {}, 1)])
    app, _ = counting(bench)
    app.run(spark, once=True, mode=MODE)
    bench.write([("a", {}, 2)])
    changed = bench.pipeline()
    changed.stream(bench.source).group_by_key().count("counts", value="json")
    with pytest.raises(PipelineError, match="DecodeError") as raised:
        changed.run(spark, mode=MODE)
    assert "Traceback (most recent call last)" in str(raised.value.__cause__)


def test_a_transformation_is_refused(bench: Bench, spark: SparkSession) -> None:
    app = bench.pipeline()
    app.stream(bench.source).transform(lambda records: records, "same").group_by_key().count("n")
    with pytest.raises(ConfigError, match="real-time mode has none"):
        app.run(spark, once=True, mode=MODE)
