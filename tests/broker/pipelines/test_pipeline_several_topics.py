"""Tasks over two topics against a real broker, without Spark: what waits, and what is committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from lastword.errors import PartitionCountError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.own_topics import ensure_topic
from lastword.pipelines.graph.task_plan import BatchOrder
from lastword.pipelines.graph.topology import OwnTopic
from lastword.pipelines.run.part_query import QueryInputs
from lastword.pipelines.run.query import PipelineQuery
from lastword.pipelines.run.spans import Span
from lastword.pipelines.task import run_task as task
from lastword.records import TopicPartition
from lastword.testing.waiting import wait_until
from tests.support.on_spark.pipeline_worker import Worker, batch


@pytest.fixture
def worker(
    connection: Connection, admin: Admin, topic_name: str, tmp_path: Path
) -> Iterator[Worker]:
    """A count over partition 1 of two topics."""
    worker = Worker(connection, admin, topic_name, tmp_path)
    other = f"{topic_name}-other"
    ensure_topic(admin, OwnTopic(other, "repartition"), partitions=2)
    sources = {topic: SourcePlan(topic, "json") for topic in (worker.source, other)}
    worker.plan = replace(worker.plan, sources=sources, nodes=worker.nodes(*sources))
    yield worker
    worker.driver_lock.leave()
    worker.move_to_another_process()


def run(
    worker: Worker, spans: Mapping[str, Span], **times: list[tuple[int, int]]
) -> dict[str, Any]:
    """One attempt with these spans; offset and time of each record, by topic."""
    topics = dict(zip(("a", "b"), worker.plan.sources, strict=True))
    parts: list[pa.RecordBatch] = []
    for topic, records in times.items():
        (part,) = batch(topics[topic], *((offset, "k") for offset, _ in records))
        parts.append(
            part.set_column(5, "timestamp_ms", pa.array([time for _, time in records], pa.int64()))
        )
    order = BatchOrder(
        worker.committed,
        worker.driver_lock.metadata,
        spans={TopicPartition(topics[topic], 1): span for topic, span in spans.items()},
    )
    (report,) = task.run_task(iter(parts), worker.plan, order)
    return dict(report.to_pylist()[0])


def positions(worker: Worker) -> list[int | None]:
    committed = worker.committed
    return [
        committed[TopicPartition(topic, 1)].offset
        if TopicPartition(topic, 1) in committed
        else None
        for topic in worker.plan.sources
    ]


def test_records_ahead_of_the_slower_topic_wait_and_are_not_committed(worker: Worker) -> None:
    spans = {"a": Span(0, 2, more=False), "b": Span(0, 1, more=True)}
    given = {"a": [(0, 10), (1, 50)], "b": [(0, 20)]}
    assert run(worker, spans, **given)["records"] == 2
    assert positions(worker) == [1, 1]
    worker.move_to_another_process()
    again = run(worker, spans, **given)
    assert (again["records"], again["skipped"]) == (0, 2)
    assert positions(worker) == [1, 1]
    spans = {"a": Span(1, 2, more=False), "b": Span(1, 2, more=False)}
    assert run(worker, spans, a=[(1, 50)], b=[(1, 60)])["records"] == 2
    assert positions(worker) == [2, 2]
    assert worker.table == {b"k": b"4"}


def test_offsets_without_records_are_passed_although_everything_else_waits(worker: Worker) -> None:
    spans = {"a": Span(0, 1, more=False), "b": Span(0, 5, more=True)}
    assert run(worker, spans, a=[(0, 10)])["records"] == 0
    assert positions(worker) == [None, 5]
    assert worker.table == {}
    spans = {"a": Span(0, 1, more=False), "b": Span(5, 9, more=False)}
    assert run(worker, spans, a=[(0, 10)])["records"] == 1
    assert positions(worker) == [1, 9]
    assert worker.table == {b"k": b"1"}


def test_partitions_that_are_added_while_it_runs_stop_it(worker: Worker) -> None:
    inputs = QueryInputs(
        None,  # type: ignore[arg-type]
        worker.plan,
        log_source=KafkaLog(worker.connection),
        repartition_topics=frozenset(),
        commit_interval_ms=100,
        once=True,
        group_metadata=lambda: b"",
        on_batch=lambda _: None,
    )
    query = PipelineQuery(inputs, max_records=10)
    assert query._ends() == dict.fromkeys(worker.plan.source_partitions, 0)
    added = [NewPartitions(topic, 3) for topic in worker.plan.sources]
    client = AdminClient(worker.connection.librdkafka())
    for made in client.create_partitions(added).values():
        made.result(180)
    wait_until(
        lambda: all(worker.admin.describe(each).partitions == 3 for each in worker.plan.sources),
        what="three partitions",
    )
    with pytest.raises(PartitionCountError, match="had 2 partitions"):
        query._ends()
