"""Several tables in a process, several instances of one topic, and what lag tools see of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, TopicPartition

from lastword.clock import SystemClock
from lastword.errors import ConfigError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.records import Position
from lastword.table.table import Table
from lastword.testing import wait_until
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables


class SkippingClock(SystemClock):
    """A clock that can be moved on, so that what is done every few seconds is due."""

    skipped_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped_s


def committed(connection: Connection, group: str, topic: str) -> dict[int, int]:
    """What a lag tool asks for: the committed offsets of a group."""
    consumer = Consumer(connection.librdkafka() | {"group.id": group})
    try:
        places = consumer.committed([TopicPartition(topic, p) for p in range(3)], timeout=180)
        return {place.partition: place.offset for place in places}
    finally:
        consumer.close()


def test_tables_of_several_topics_live_in_one_process(
    admin: Admin, topic_name: str, tables: Tables, store: str
) -> None:
    opened: list[Table] = []
    for n in range(3):
        create_topic(admin, f"{topic_name}-{n}", partitions=n + 1)
        opened.append(tables.open(f"{topic_name}-{n}", store=store))
    for n, table in enumerate(opened):
        table.put("name", n)
    assert [table["name"] for table in opened] == [0, 1, 2]
    opened[0].close()
    opened[1].put("still", "there")
    assert [len(table) for table in opened[1:]] == [2, 1]


def test_two_tables_on_one_topic_have_different_views_of_it(topic: str, tables: Tables) -> None:
    documents = tables.open(topic, name="documents", store="rocksdb")
    raw = tables.open(topic, name="raw", value="bytes", store="rocksdb")
    version = documents.put("a", {"n": 1})
    answer = raw.query.get("a", at_least=Position.after(version))
    assert answer.value is not None
    assert answer.value.value == b'{"n":1}'


def test_a_position_of_another_topic_is_refused_at_once(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    with pytest.raises(ConfigError, match="partitions"):
        table.query.get("a", at_least=Position({99: 1}), timeout_s=600)


def test_instances_of_one_topic_stay_in_step(topic: str, tables: Tables) -> None:
    stores = {"one": "memory", "two": "rocksdb", "three": "memory"}
    instances = [
        tables.open(topic, application_id=f"app-{name}", store=store)
        for name, store in stores.items()
    ]

    def write(n: int) -> Position:
        table = instances[n]
        for i in range(60):
            table.put(f"key-{i % 13}", f"{n}-{i}")
            if i % 7 == 0:
                table.delete(f"key-{i % 5}")
        return table.position()

    with ThreadPoolExecutor(3) as pool:
        positions = list(pool.map(write, range(3)))
    latest = Position({p: max(each.offsets[p] for each in positions) for p in range(3)})
    contents = []
    for table in instances:
        scan = table.query.scan(at_least=latest)
        contents.append([(entry.key, entry.value, entry.version) for entry in scan])
    assert contents[0] == contents[1] == contents[2]
    assert contents[0]


def test_a_late_instance_has_everything(topic: str, tables: Tables, store: str) -> None:
    first = tables.open(topic)
    first.put_many({f"key-{n}": n for n in range(500)})
    first.delete("key-7")
    late = tables.open(topic, name="late", store=store)
    assert late.position().at_least(first.position())
    assert list(late.items()) == list(first.items())


def test_positions_are_committed_under_the_application_id(
    topic: str, tables: Tables, connection: Connection
) -> None:
    clock = SkippingClock()
    table = tables.open(topic, application_id="the-shop", clock=clock)
    for n in range(10):
        table.put(f"key-{n}", n)
    position = dict(table.position().offsets)
    clock.skipped_s = 60.0
    wait_until(
        lambda: committed(connection, "the-shop:tables", topic) == position,
        f"the group the-shop has committed {position}",
    )


def test_the_lag_of_a_table_that_follows_is_nothing(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    table.put_many({f"key-{n}": n for n in range(10)})
    assert table.lag() == {0: 0, 1: 0, 2: 0}
