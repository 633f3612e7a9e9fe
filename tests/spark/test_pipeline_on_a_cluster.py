"""The same pipeline file on a real Spark cluster: a master, two workers, spark-submit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lastword.jvm.java import find_java
from lastword.spark.session import SPARK_KAFKA_JARS, java_home_for_spark
from lastword.testing.waiting import wait_until
from tests.support.on_spark.pipelines import Bench, Written, counts_of
from tests.support.on_spark.spark_cluster import SparkCluster

PARTITIONS = 4
# The state directory is relative: each executor has one of its own, as on machines of their own.
FILE = """
import dataclasses, json, sys, threading
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession
from lastword.pipelines import Pipeline
from lastword.testing.waiting import wait_until

def tell(report):
    if report.tally.records:
        print(json.dumps(dataclasses.asdict(report.tally)), flush=True)

def slow_at_first(value):
    # The first attempt at this record is stuck until Spark has started a second one elsewhere.
    if value["n"] == 500:
        with Path(attempts).open("a") as file:
            file.write(f"{TaskContext.get().attemptNumber()}\\n")
        both = lambda: len(Path(attempts).read_text().split()) > 1
        wait_until(both, what="a second attempt", timeout=60)
    return value

servers, application_id, source, attempts = sys.argv[1:]
app = Pipeline(
    application_id,
    bootstrap_servers=servers,
    state_dir="state",
    commit_interval=0,
    max_records_per_batch=400,
)
app.stream(source).map_values(slow_at_first).group_by_key().count("counts")
# spark-submit has no standard input for it: a file says when to stop.
def stop_once_told(number):
    wait_until(Path(f"{attempts}-stop-{number}").exists, what="the word to stop", timeout=1_800)
    app.stop()

for number in (1, 2):
    threading.Thread(target=stop_once_told, args=(number,), daemon=True).start()
app.run(on_batch=tell)
spark = SparkSession.builder.config("spark.speculation", "false").getOrCreate()
print("in real time", flush=True)
app.run(spark, mode="real-time", on_batch=tell)
"""

# As soon as half of a batch's tasks are done, whoever is slower is tried a second time.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.efficiency.enabled": "false",
}


@pytest.fixture
def cluster(home: Path, tmp_path: Path) -> Iterator[SparkCluster]:
    running = SparkCluster(tmp_path, java_home_for_spark(find_java(os.environ), home), workers=2)
    try:
        running.wait_for_workers(2)
        yield running
    finally:
        running.close()


def events(count: int, first: int = 0) -> list[Written]:
    return [(f"u{i * 7 % 50}", {"n": i}, i) for i in range(first, first + count)]


def test_speculative_attempts_killed_workers_and_executors_lose_and_double_nothing(
    bench: Bench, cluster: SparkCluster, home: Path, tmp_path: Path
) -> None:
    source = bench.add_source(f"{bench.source}-wide", PARTITIONS)
    bench.write(events(1_000), topic=source)
    script = tmp_path / "counting.py"
    script.write_text(FILE)
    jars = SPARK_KAFKA_JARS.resolve(home, find_java(os.environ))
    servers, app = bench.connection.bootstrap_servers, f"app-{source}"
    attempts = tmp_path / "attempts"
    driver = cluster.submit(script, jars, servers, app, source, str(attempts), settings=SPECULATION)
    try:
        _process(driver.stdout, 1_000)
        assert len(set(attempts.read_text().split())) == 2, "a slow task must be tried twice"
        stores = [_stores(cluster, number) for number in range(2)]
        assert all(stores), f"both executors must have had tasks: {stores}"

        cluster.kill_worker(0)
        bench.write(events(1_000, 1_000), topic=source)
        processed = _process(driver.stdout, 1_000)
        if stores[0] - stores[1]:  # else the other executor may have had all of them last
            assert processed["restored"] > 0, "what moved must come from its changelog"
        assert _stores(cluster, 1) == {0, 1, 2, 3}

        Path(f"{attempts}-stop-1").touch()
        _read_until(driver.stdout, "in real time")
        # One core is left, so one task has all partitions.
        bench.write(events(1_000, 2_000), topic=source)
        _wait_for_table(bench, app, events(3_000))
        cluster.kill_executor(1)
        bench.write(events(1_000, 3_000), topic=source)
        _wait_for_table(bench, app, events(4_000))
        Path(f"{attempts}-stop-2").touch()
        reports = map(_report, driver.communicate(timeout=300)[0].splitlines())
        assert sum(report.get("restored", 0) for report in reports) > 0, "it had no stores"
        assert driver.returncode == 0
    finally:
        driver.kill()
        driver.communicate()
    assert _table(bench, app) == counts_of(events(4_000))


def _read_until(lines: Any, mark: str) -> None:
    while mark not in (line := lines.readline()):
        assert line, "the driver ended"


def _wait_for_table(bench: Bench, app: str, written: list[Written]) -> None:
    expected = counts_of(written)
    wait_until(lambda: _table(bench, app) == expected, what="the table", timeout=300)


def _table(bench: Bench, app: str) -> dict[str, int]:
    rows = bench.rows(f"{app}-counts-changelog")
    return {key.decode(): int.from_bytes(value, "big") for key, value in rows.items()}


def _process(lines: Any, records: int) -> dict[str, int]:
    """Read the reports of batches until exactly this many records were processed."""
    total: dict[str, int] = {}
    while total.get("records", 0) < records:
        line = lines.readline()
        assert line, "the driver ended"
        for name, number in _report(line).items():
            total[name] = total.get(name, 0) + number
    assert total["records"] == records
    return total


def _report(line: str) -> dict[str, int]:
    """The counts of a line; none if it is a warning, as spark-submit joins both outputs."""
    return dict(json.loads(line)) if line.startswith("{") else {}


def _stores(cluster: SparkCluster, worker: int) -> set[int]:
    """The partitions that have had a store on a worker."""
    return {
        int(partition.name)
        for executor in cluster.executors_of(worker)
        for partition in executor.glob("state/*/counts/*")
    }
