"""A table that events are joined to is read on from one commit to the next by one reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import QUEUE_BYTES, LogReader
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.task.partition_state import PartitionState


class CountedLog(KafkaLog):
    """Counts the readers that were opened."""

    followed = 0

    def follow(self, topic: str, *, queue_bytes: int = QUEUE_BYTES) -> LogReader:  # type: ignore[override]
        self.followed += 1
        return super().follow(topic, queue_bytes=queue_bytes)


@pytest.fixture
def log(connection: Connection) -> CountedLog:
    return CountedLog(connection)


@pytest.fixture
def state(
    log: CountedLog, connection: Connection, admin: Admin, topic_name: str, tmp_path: Path
) -> Iterator[PartitionState]:
    admin.create(topic_name, partitions=1, replication=1, settings={"cleanup.policy": "compact"})
    plan = TaskPlan(
        application_id="app",
        connection=connection,
        partitions=1,
        sources={},
        nodes=(),
        quarantine_topic="quarantine",
        state_dir=tmp_path,
    )
    state = PartitionState(plan, StorePlan("rows", topic_name, follows=True), 0, log)
    yield state
    state.close()


def test_each_commit_continues_with_the_same_reader_and_the_records_that_had_to_wait(
    state: PartitionState, log: CountedLog, connection: Connection, admin: Admin, topic_name: str
) -> None:
    producer = Producer(connection.librdkafka())
    position = 0
    state.bring_to(position)
    opened = log.followed
    for time_ms in (10, 20, 30):
        for at_ms in (time_ms, time_ms + 5):
            producer.produce(topic_name, b"%d" % at_ms, b"k", timestamp=at_ms)
        assert producer.flush(30) == 0
        end = admin.end_offsets(topic_name, [0])[0]
        view = state.following(position, end)
        view.advance(time_ms)
        assert view.get(b"k") == b"%d" % time_ms
        state.commit(view, view.position)
        position = view.position
        assert position == end - 1, "the second one is of a later time"
    assert log.followed == opened + 1
