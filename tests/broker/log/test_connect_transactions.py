"""Transactions that a killed Connect worker left open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer

from lastword.connect_worker.task_transactions import abort_task_transactions
from lastword.connect_worker.worker_info import WorkerInfo
from lastword.kafka.admin.transactions import ongoing_transactions
from lastword.kafka.connection import Connection
from lastword.testing.waiting import wait_until


@contextmanager
def open_transaction(connection: Connection, name: str, topic: str) -> Iterator[None]:
    """As a task leaves it whose worker was killed."""
    producer = Producer(connection.librdkafka() | {"transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"half of it", b"key")
    assert producer.flush(60) == 0
    wait_until(lambda: name in ongoing_transactions(connection), "the transaction is open")
    yield


@contextmanager
def member(connection: Connection, group: str, client_id: str, topic: str) -> Iterator[None]:
    settings = connection.librdkafka() | {"group.id": group, "client.id": client_id}
    consumer = Consumer(settings)
    consumer.subscribe([topic])

    def joined() -> bool:
        consumer.poll(0.1)
        return bool(consumer.assignment())

    wait_until(joined, "it joins the group")
    yield
    consumer.close()


def test_a_worker_that_starts_again_aborts_what_its_tasks_left_open(
    connection: Connection, topic: str
) -> None:
    worker = WorkerInfo("unused", 8083, f"group-{topic}", detached=False)
    left, other = f"{worker.group}-shop-0", f"another-group-{topic}-shop-0"
    with (
        open_transaction(connection, left, topic),
        open_transaction(connection, other, topic),
        member(connection, worker.group, worker.client_id, topic),  # until its session ends
    ):
        abort_task_transactions(connection, worker)
        open_now = ongoing_transactions(connection)
        assert (left in open_now, other in open_now) == (False, True)


@pytest.mark.parametrize("another", ["", "-two"], ids=["its group", "a group of a longer name"])
def test_nothing_is_aborted_while_another_worker_runs(
    connection: Connection, topic: str, another: str
) -> None:
    worker = WorkerInfo("unused", 8083, f"group-{topic}", detached=False)
    left = f"{worker.group}{another}-shop-0"
    with (
        open_transaction(connection, left, topic),
        member(connection, f"{worker.group}{another}", "connect-10.0.0.7:8083", topic),
    ):
        abort_task_transactions(connection, worker)
        assert left in ongoing_transactions(connection)
