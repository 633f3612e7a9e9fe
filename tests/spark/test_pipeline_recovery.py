"""Whatever is lost or killed, the table ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lastword.errors import FencedError
from lastword.kafka.groups.driver_lock import DriverLock
from lastword.pipelines import Pipeline, tumbling
from lastword.pipelines.api.result import Result
from lastword.pipelines.run.driver import Mode
from lastword.testing.waiting import wait_until
from tests.support.local_tables.tables import read_raw
from tests.support.on_spark.pipeline_process import DriverProcess
from tests.support.on_spark.pipelines import NOON_MS, Bench, Written, counts_of

# `make soak` asks for more; each takes some twenty seconds.
KILLS = int(os.environ.get("LASTWORD_TEST_KILLS", "3"))
MODES: tuple[Mode, ...] = ("real-time", "micro-batch")


def events(count: int, first: int = 0) -> list[Written]:
    return [(f"u{i * 7 % 50}", {"n": i}, i) for i in range(first, first + count)]


def counting(bench: Bench) -> tuple[Pipeline, Result]:
    app = bench.pipeline()
    return app, app.stream(bench.source).group_by_key().count("counts")


@contextmanager
def killed_at_the_end(driver: DriverProcess) -> Iterator[DriverProcess]:
    try:
        yield driver
    finally:
        driver.kill()


def test_lost_local_state_comes_back_from_the_changelogs(bench: Bench, spark: SparkSession) -> None:
    def build() -> tuple[Pipeline, Result, Result]:
        app = bench.pipeline()
        grouped = app.stream(bench.source).group_by_key()
        per_minute = grouped.windowed_by(tumbling("60s")).count("per-minute", retention="6h")
        return app, grouped.count("counts"), per_minute

    bench.write(events(300))
    app, *_ = build()
    app.run(spark, once=True)
    shutil.copytree(bench.directory / "state", bench.directory / "old-state")
    bench.write(events(300, 300))
    app, *_ = build()
    app.run(spark, once=True)
    shutil.rmtree(bench.directory / "state")
    bench.write(events(300, 600))
    restored = []
    app, *_ = build()
    app.run(spark, once=True, on_batch=lambda report: restored.append(report.tally.restored))
    assert sum(restored) > 0

    # A store that fell behind, because its partition was elsewhere meanwhile, catches up.
    shutil.rmtree(bench.directory / "state")
    shutil.move(bench.directory / "old-state", bench.directory / "state")
    bench.write(events(300, 900))
    app, counts, per_minute = build()
    app.run(spark, once=True)
    assert bench.table(counts) == counts_of(events(1_200))
    by_key = {key.key: count for key, count in bench.table(per_minute).items()}
    assert by_key == counts_of(events(1_200))
    assert {key.start_ms for key in bench.table(per_minute)} == {NOON_MS}


def test_a_driver_killed_again_and_again_in_either_mode_loses_and_doubles_nothing(
    bench: Bench, spark: SparkSession, home: Path
) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    total = 0
    # The next one starts Spark while Kafka waits for the last one's heartbeat.
    spare = DriverProcess.start(bench, home, records_per_batch=200)
    try:
        for number in range(KILLS):
            bench.write(events(1_000, total))
            total += 1_000
            with killed_at_the_end(spare) as driver:
                driver.run(MODES[number % len(MODES)])
                driver.wait_for_batches(1)
                bench.write(events(1_000, total))
                total += 1_000
                if number + 1 < KILLS:
                    spare = DriverProcess.start(bench, home, records_per_batch=200)
                with pytest.raises(subprocess.TimeoutExpired):
                    driver.process.wait(chance.uniform(0.0, 1.0))  # into a commit, anywhere in it
    finally:
        spare.kill()
    app, counts = counting(bench)
    app.run(spark, once=True, mode=chance.choice(MODES))
    assert bench.table(counts) == counts_of(events(total)), f"with the seed {seed}"


def test_a_pipeline_stopped_within_its_first_batch_ends_without_a_trace(
    bench: Bench, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    entered, leave = bench.directory / "entered", bench.directory / "leave"

    def held(value: Any) -> Any:
        """In a worker of Spark: the batch lasts until somebody stops it."""
        entered.touch()
        wait_until(leave.exists, "the test is over")
        return value

    app = bench.pipeline()
    app.stream(bench.source).map_values(held).group_by_key().count("counts")
    bench.write(events(1))
    with ThreadPoolExecutor(1) as pool:
        try:
            running = pool.submit(app.run, spark)
            wait_until(lambda: entered.exists() or running.done(), "the batch")
            app.stop()
            running.result(180)
        finally:
            leave.touch()
    assert [each.getMessage() for each in caplog.records if each.name.startswith("py4j")] == []


def test_a_second_driver_is_refused_with_the_name_of_the_first(
    bench: Bench, spark: SparkSession
) -> None:
    app, _ = counting(bench)
    app.run(spark, once=True)  # makes the control topic
    first = DriverLock(
        bench.connection,
        app.application_id,
        f"{app.application_id}-control",
        client_id="the-first@host:7",
        on_lost=lambda: None,
    )
    first.join()
    try:
        with pytest.raises(FencedError, match="already runs: the-first@host:7"):
            app.run(spark, once=True)
    finally:
        first.leave()
    app.run(spark, once=True)


def test_a_paused_driver_that_was_replaced_cannot_write_when_it_wakes_up(
    bench: Bench, spark: SparkSession, home: Path
) -> None:
    bench.write(events(500))
    with killed_at_the_end(DriverProcess.start(bench, home, records_per_batch=10_000)) as paused:
        paused.run()
        paused.wait_for_batches(1)
        paused.process.send_signal(signal.SIGSTOP)
        bench.write(events(500, 500))
        app, counts = counting(bench)
        app.run(spark, once=True)  # waits until the broker has given the other one up
        assert bench.table(counts) == counts_of(events(1_000))
        bench.write(events(500, 1_000))
        paused.process.send_signal(signal.SIGCONT)
        assert "FencedError" in paused.last_words()
    assert bench.table(counts) == counts_of(events(1_000))
    app.run(spark, once=True)
    assert bench.table(counts) == counts_of(events(1_500))
    assert counts.topic is not None
    grown: dict[bytes | None, bytes] = {}
    for record in read_raw(bench.connection, counts.topic):
        assert record.value is not None
        assert record.value > grown.get(record.key, b""), "an old value was written over a new one"
        grown[record.key] = record.value
