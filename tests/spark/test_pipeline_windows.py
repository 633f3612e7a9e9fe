"""Sessions, windows that are held back and stores of fixed size, on real Spark and Kafka."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lastword.codecs.windowed import SessionKey, WindowedKey
from lastword.errors import ConfigError
from lastword.pipelines import BatchReport, Pipeline, session, tumbling
from lastword.pipelines.api.result import Result
from tests.support.local_tables.tables import read_raw, write_raw
from tests.support.on_spark.pipelines import NOON_MS, Bench


def build(bench: Bench) -> tuple[Pipeline, list[Result]]:
    app = bench.pipeline()
    grouped = app.stream(bench.source, timestamp="at").group_by_key()
    visits = grouped.windowed_by(session("5m", grace="1m"))
    minutes = grouped.windowed_by(tumbling("60s", grace="5s"))
    return app, [
        visits.count("visits", retention="6h"),
        visits.sum("n", "totals", retention="6h").suppress(),
        minutes.count("minutes", retention="6h").suppress(),
        grouped.lru(1).count("recent"),
    ]


def test_sessions_and_final_windows_survive_a_lost_disk_between_two_runs(
    bench: Bench, spark: SparkSession
) -> None:
    reports: list[BatchReport] = []

    def run(*events: tuple[str, int]) -> None:
        written: list[tuple[str, Any, int]] = [
            (key, {"at": NOON_MS + at_s * 1_000, "n": at_s}, 0) for key, at_s in events
        ]
        bench.write(written)
        build(bench)[0].run(spark, once=True, on_batch=reports.append)

    run(("p", 0), ("p", 400), ("p", 30))
    _, (visits, totals, minutes, recent) = build(bench)
    assert bench.table(visits) == {
        SessionKey("p", NOON_MS, NOON_MS): 1,
        SessionKey("p", NOON_MS + 400_000, NOON_MS + 400_000): 1,
    }
    assert bench.table(totals) == {SessionKey("p", NOON_MS, NOON_MS): 0}
    assert bench.table(minutes) == {WindowedKey("p", NOON_MS): 1}
    assert sum(report.tally.held_back for report in reports) == 2
    shutil.rmtree(bench.directory / "state")

    # A record between two sessions joins both, unless the first of them is final.
    run(("p", 200), ("p", 1_000), ("p", 410))
    assert bench.table(visits) == {
        SessionKey("p", NOON_MS, NOON_MS + 400_000): 3,
        SessionKey("p", NOON_MS + 1_000_000, NOON_MS + 1_000_000): 1,
    }
    assert bench.table(totals) == {
        SessionKey("p", NOON_MS, NOON_MS): 0,
        SessionKey("p", NOON_MS + 200_000, NOON_MS + 400_000): 600,
    }
    assert bench.table(minutes) == {
        WindowedKey("p", NOON_MS): 1,
        WindowedKey("p", NOON_MS + 360_000): 1,
    }
    for final in (totals, minutes):
        assert final.topic is not None
        told = [record.key for record in read_raw(bench.connection, final.topic)]
        assert len(told) == len(set(told)), "a final window was told twice"
    # At 30 s for all three; at 200 s for the minute only; at 410 s, after 1000 s, for all again.
    assert [report.tally.late for report in reports] == [3, 4]
    assert bench.table(recent) == {"p": 6}
    run(("p", 1_001), *((f"other-{n}", 1_001) for n in range(30)))
    assert sum(report.tally.evicted for report in reports) > 0
    assert len(bench.table(recent)) == 3

    app = build(bench)[0]
    for store in ("visits", "totals", "recent"):
        rebuilt = app.rebuild(store, spark)
        assert rebuilt.equal, rebuilt
        assert (rebuilt.events, rebuilt.rows > 0) == (37, True)
    write_raw(bench.connection, visits.topic or "", [(b"p" + bytes(16), b"x")], partition=0)
    assert app.rebuild("visits", spark).equal, "what came after the last commit is not compared"
    with pytest.raises(ConfigError, match="no store 'nothing'"):
        app.rebuild("nothing", spark)
