"""Random pipelines over random records give the model's result in every mode.

The model is the product's own graph over lists, which tests/streams holds against Kafka Streams.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from itertools import pairwise
from random import Random

from pyspark.sql import SparkSession

from lastword.pipelines import BatchReport, Pipeline
from lastword.pipelines.run.driver import Mode
from tests.support.java_peers.streams_cases import STORE, Case, Given, random_case
from tests.support.on_spark.offline_pipeline import OfflinePipeline
from tests.support.on_spark.pipelines import NOON_MS, Bench

# `make soak` asks for more.
CASES = int(os.environ.get("LASTWORD_TEST_MODES_CASES", "3"))
SEED = int(os.environ.get("LASTWORD_TEST_MODES_SEED") or Random().randrange(10**9))
MODES: tuple[Mode, ...] = ("micro-batch", "real-time")
# The broker refuses records of the future.
AN_HOUR_AGO = -3_600_000


def test_random_pipelines_give_the_models_result_in_any_mix_of_modes(
    bench: Bench, spark: SparkSession
) -> None:
    for number in range(CASES):
        chance = Random(f"{SEED}-{number}")
        name = f"{bench.source}-{number}"
        case = in_topics_of(name, random_case(chance))
        expected = model_of(case, name)
        for topic in case.topics:
            bench.add_source(topic, partitions=1)
        cuts = sorted(chance.choices(range(len(case.records) + 1), k=2))
        for start, end in pairwise([0, *cuts, len(case.records)]):
            write(bench, case, case.records[start:end])
            mode = chance.choice(MODES)
            reports = run(bench, spark, case, name, mode)
            assert not sum(report.tally.quarantined for report in reports)
            if case.lose_stores:
                shutil.rmtree(bench.directory / name, ignore_errors=True)
        found = {topic: bench.rows(topic) for topic in expected}
        assert found == expected, f"seed {SEED}, case {number}: {case}"


def in_topics_of(name: str, case: Case) -> Case:
    """With topics that no other test has, and times after NOON_MS."""
    return replace(
        case,
        topics=tuple(f"{name}-{topic}" for topic in case.topics),
        ways=tuple(
            way._replace(topics=tuple(f"{name}-{topic}" for topic in way.topics))
            for way in case.ways
        ),
        records=tuple(
            each._replace(
                topic=f"{name}-{each.topic}", timestamp_ms=AN_HOUR_AGO + each.timestamp_ms
            )
            for each in case.records
        ),
    )


def model_of(case: Case, name: str) -> dict[str, dict[bytes, bytes]]:
    """What the changelog and the result hold in the end."""
    app = Pipeline(f"app-{name}", bootstrap_servers="none:1")
    result = case.declare(app)
    offline = OfflinePipeline(app)
    offline.run(
        {
            topic: [
                (each.key, each.value, NOON_MS + each.timestamp_ms, ())
                for each in case.records
                if each.topic == topic
            ]
            for topic in case.topics
        }
    )
    topics = {f"app-{name}-{STORE}-changelog", result.topic or ""}
    return {
        topic: {key: value for key, (value, _) in offline.table(topic).items()} for topic in topics
    }


def write(bench: Bench, case: Case, records: tuple[Given, ...]) -> None:
    for topic in case.topics:
        bench.write(
            [
                (None if each.key is None else each.key.decode(), each.value, each.timestamp_ms)
                for each in records
                if each.topic == topic
            ],
            topic,
        )


def run(bench: Bench, spark: SparkSession, case: Case, name: str, mode: Mode) -> list[BatchReport]:
    app = Pipeline(f"app-{name}", connection=bench.connection, state_dir=bench.directory / name)
    case.declare(app)
    reports: list[BatchReport] = []
    app.run(spark, once=True, mode=mode, on_batch=reports.append)
    return reports
