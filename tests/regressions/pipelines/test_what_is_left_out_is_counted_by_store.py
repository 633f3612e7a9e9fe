"""Dropped records were one sum for all stores that share a source.

Two windows over one stream, one of them without grace: nobody could tell for which of them records
were late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines import tumbling
from lastword.pipelines.api.folds import Count
from lastword.pipelines.api.state import PipelineLife
from lastword.pipelines.graph.node import Node, SourceNode, StatefulNode, StorePlan
from lastword.pipelines.graph.own_topics import ensure_topic
from lastword.pipelines.graph.task_plan import BatchOrder
from lastword.pipelines.graph.topology import OwnTopic
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.operators.make_fold import MakeFold
from lastword.pipelines.run.observer import BatchReport, Observer
from lastword.pipelines.task import run_task as task
from lastword.pipelines.task.task_report import TaskReport, from_row
from tests.support.on_spark.pipeline_worker import Worker, batch
from tests.support.on_spark.pipelines import NOON_MS


@pytest.fixture
def worker(connection: Connection, topic_name: str, tmp_path: Path) -> Iterator[Worker]:
    """A task with two stores of windows over one stream."""
    with Admin(connection) as admin:
        worker = Worker(connection, admin, topic_name, tmp_path)
        source = SourceNode("source", (), "source", worker.source)
        nodes: list[Node] = [source]
        for store, grace in (("strict", 0), ("patient", 60_000)):
            changelog = f"{topic_name}-{store}-changelog"
            ensure_topic(admin, OwnTopic(changelog, "changelog"), partitions=2)
            windows = tumbling(1_000, grace=grace)
            make = MakeFold(Count(), "string", "json", windows=windows, retention_ms=10**6)
            plans = (StorePlan(store, changelog),)
            nodes.append(StatefulNode(store, (source.name,), "count", plans, make, is_result=True))
        worker.plan = replace(worker.plan, nodes=tuple(nodes))
        yield worker
        worker.driver_lock.leave()
        worker.move_to_another_process()


def processed(worker: Worker, *seconds: int) -> TaskReport:
    (records,) = batch(worker.source, *((n, "a") for n in range(len(seconds))))
    times = pa.array([NOON_MS + 1_000 * second for second in seconds], pa.int64())
    records = records.set_column(5, "timestamp_ms", times)
    order = BatchOrder(worker.committed, worker.driver_lock.metadata)
    (row,) = task.run_task(iter([records]), worker.plan, order)
    return from_row(row.to_pylist()[0])


def test_a_record_is_late_for_one_store_and_in_time_for_another(worker: Worker) -> None:
    report = processed(worker, 10, 3, 4)
    assert {store: counted.late for store, counted in report.by_store.items()} == {
        "strict": 2,
        "patient": 0,
    }
    assert report.tally.late == 2
    assert (report.by_store["strict"].updates, report.by_store["patient"].updates) == (1, 3)
    assert (report.tally.records, report.tally.updates) == (3, 4)


def test_metrics_tell_the_stores_apart() -> None:
    observer = Observer("app", PipelineLife())
    by_store = {"strict": Tally(late=2, quarantined=1), "patient": Tally(late=1)}
    observer.batch(BatchReport(("t",), 0.1, Tally(late=3, quarantined=3), by_store=by_store))
    found = {
        (sample.name, dict(sample.labels).get("store")): sample.value
        for sample in observer.metrics.samples()
    }
    assert [found["pipeline_late_total", store] for store in ("strict", "patient", "")] == [2, 1, 0]
    assert found["pipeline_quarantined_total", "strict"] == 1
    assert found["pipeline_quarantined_total", ""] == 2  # could not be decoded
