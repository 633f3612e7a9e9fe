"""A table published its positions under its application id, which is also a pipeline's group.

Opening a table on the source of a stopped pipeline, with the pipeline's application id, replaced
its position and the note beside it. The next run took the position, knew of no results, and went
on counting from nothing, without an error.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition
from pyspark.sql import SparkSession

from lastword.errors import ConfigError, PipelineError
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.groups.names import pipeline_group, table_group
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.run.continuity import check_continuity
from lastword.records import TopicPartition
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.on_spark.pipelines import PARTITIONS, Bench


def positions(bench: Bench, group: str) -> dict[TopicPartition, Committed]:
    groups = Groups(bench.connection)
    try:
        return groups.committed(group, [TopicPartition(bench.source, p) for p in range(PARTITIONS)])
    finally:
        groups.close()


def test_a_table_with_the_application_id_of_a_pipeline_publishes_under_another_group(
    spark: SparkSession, bench: Bench
) -> None:
    bench.admin.alter(bench.source, {"cleanup.policy": "compact"})
    app = bench.pipeline()
    counts = app.stream(bench.source).group_by_key().count("counts")
    bench.write([("alice", {}, n) for n in range(3)])
    app.run(spark, once=True)
    before = positions(bench, pipeline_group(app.application_id))
    bench.write([("alice", {}, n) for n in range(2)])
    with Table(
        bench.source,
        connection=bench.connection,
        application_id=app.application_id,
        state_dir=bench.directory / "tables",
    ):
        published = table_group(app.application_id)
        wait_until(lambda: bool(positions(bench, published)), what="the table's positions")
    assert positions(bench, pipeline_group(app.application_id)) == before
    app.run(spark, once=True)
    assert bench.table(counts) == {"alice": 5}


def test_a_pipeline_refuses_positions_that_it_did_not_commit(
    spark: SparkSession, bench: Bench
) -> None:
    app = bench.pipeline()
    counts = app.stream(bench.source).group_by_key().count("counts")
    bench.write([("alice", {}, n) for n in range(3)])
    app.run(spark, once=True)
    (place,) = [p for p, at in positions(bench, app.application_id).items() if at.offset == 3]
    # As a table of an older version did, and as kafka-consumer-groups --reset-offsets does.
    settings = {"group.id": app.application_id, "enable.auto.commit": False}
    consumer = Consumer(bench.connection.librdkafka() | settings)
    consumer.commit(offsets=[KafkaPartition(*place, 1)], asynchronous=False)
    consumer.close()
    with pytest.raises(PipelineError, match="was not committed by this pipeline") as refused:
        app.run(spark, once=True)
    assert place.topic in str(refused.value)
    assert "delete the consumer group and the changelogs" in (refused.value.hint or "")
    assert bench.table(counts) == {"alice": 3}


@pytest.mark.parametrize("metadata", ["", "AgAAAZ", '{"changelogs": 1}'])
def test_a_position_without_metadata_is_a_start_while_there_are_no_results(
    bench: Bench, metadata: str
) -> None:
    app = bench.pipeline()
    counts = app.stream(bench.source).group_by_key().count("counts")
    app.create_topics()
    assert counts.topic is not None
    plan = TaskPlan(
        application_id=app.application_id,
        connection=bench.connection,
        partitions=PARTITIONS,
        sources={bench.source: SourcePlan(bench.source, "json")},
        nodes=tuple(app._topology.nodes.values()),
        quarantine_topic="unused",
        state_dir=bench.directory,
    )
    committed = {TopicPartition(bench.source, 0): Committed(0, metadata)}
    check_continuity(bench.admin, KafkaLog(bench.connection), plan, committed)


def test_no_application_id_leads_to_the_group_of_another_use() -> None:
    ids = ("shop", "shop-tables", "shop.tables", "tables", "lastword")
    assert not {pipeline_group(each) for each in ids} & {table_group(each) for each in ids}
    for group in (pipeline_group, table_group):
        with pytest.raises(ConfigError, match="colon"):
            group("shop:tables")
