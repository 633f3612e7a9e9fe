"""A driver that is killed in the middle of a commit must not keep its successor from starting.

Its transaction stayed open until its timeout of a minute. Until then the broker does not say which
positions are committed, and the new driver gave up after ten seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaPartition

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines.run.left_transactions import end_left_transactions
from tests.support.on_spark.pipeline_worker import Worker


@pytest.fixture
def worker(connection: Connection, topic_name: str, tmp_path: Path) -> Iterator[Worker]:
    with Admin(connection) as admin:
        worker = Worker(connection, admin, topic_name, tmp_path)
        yield worker
        worker.driver_lock.leave()
        worker.move_to_another_process()


def task_without_its_last_step(worker: Worker) -> Producer:
    """A task's transaction up to the commit, under the task's own id."""
    name = worker.plan.transactional_id(1)
    producer = Producer(worker.connection.librdkafka() | {"transactional.id": name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(worker.changelog, b"9", b"a", 1)
    producer.send_offsets_to_transaction(
        [KafkaPartition(worker.source, 1, 9)], worker.driver_lock.metadata
    )
    producer.flush()
    return producer


def test_positions_are_answered_once_the_open_transaction_is_ended(worker: Worker) -> None:
    worker.run((0, "a"), (1, "a"))
    dead = task_without_its_last_step(worker)
    end_left_transactions(worker.connection, [worker.plan])
    assert worker.position == 2
    assert worker.table == {b"a": b"2"}
    dead.purge()


def test_the_transactions_of_others_are_not_ended(worker: Worker, topic_name: str) -> None:
    producer = Producer(
        worker.connection.librdkafka() | {"transactional.id": f"{topic_name}-other"}
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(worker.changelog, b"1", b"theirs", 1)
    producer.flush()
    end_left_transactions(worker.connection, [worker.plan])
    producer.commit_transaction()
    assert worker.table == {b"theirs": b"1"}
