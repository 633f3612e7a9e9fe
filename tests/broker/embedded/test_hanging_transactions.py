"""A broker that is killed between the decision of a transaction and its markers.

Whether Kafka then forgets the markers is a matter of milliseconds, so the tests remove them from
the files of a killed broker: coordinator and partitions are left as they were found after such a
kill.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.kafka.admin import Admin
from lastword.kafka.admin.hanging_transactions import end_hanging_transactions
from lastword.kafka.admin.transactions import open_transactions
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Groups
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.records import TopicPartition as Place
from lastword.testing import wait_until

WAIT_S = 180.0
_LENGTH = struct.Struct(">qi")
_CONTROL = 0x20


@pytest.fixture
def own_broker(kafka_runtime: KafkaRuntime, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(tmp_path / "broker", kafka_runtime)
    broker.start()
    yield broker
    broker.kill()


def transaction(broker: EmbeddedBroker, topic: str, *, commit: bool) -> None:
    """A record and a position in one transaction."""
    servers = broker.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, key=b"k", value=b"v", partition=0)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": f"{topic}-readers"})
    producer.send_offsets_to_transaction(
        [TopicPartition(topic, 0, 7)], consumer.consumer_group_metadata(), WAIT_S
    )
    consumer.close()
    (producer.commit_transaction if commit else producer.abort_transaction)(WAIT_S)


def without_markers(broker: EmbeddedBroker, *places: str) -> None:
    """Cut off what follows the last batch of records."""
    for name in places:
        (path,) = (broker.info.nodes[0].data_dir / name).glob("*.log")
        data, at, end = path.read_bytes(), 0, 0
        while at + 23 <= len(data):
            _, length = _LENGTH.unpack_from(data, at)
            at += 12 + length
            (attributes,) = struct.unpack_from(">h", data, at - 12 - length + 21)
            end = end if attributes & _CONTROL else at
        assert end < len(data), f"{path} has no marker at its end"
        path.write_bytes(data[:end])


def create(connection: Connection, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": connection.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(timeout=WAIT_S)


def is_marked(connection: Connection, topic: str) -> bool:
    """Whether markers are behind the records; they come after the answer to the client."""
    with Admin(connection) as admin:
        ends = [admin.bounds(each, [0])[0] for each in (topic, "__consumer_offsets")]
    return all(each.stable_end == each.end for each in ends)


def test_after_a_kill_transactions_end_as_they_were_decided(
    own_broker: EmbeddedBroker, topic_name: str
) -> None:
    decided = {f"{topic_name}-{word}": word == "committed" for word in ("committed", "aborted")}
    for topic, commit in decided.items():
        create(own_broker.connection, topic)
        transaction(own_broker, topic, commit=commit)
        wait_until(lambda: is_marked(own_broker.connection, topic), "markers", timeout=WAIT_S)  # noqa: B023
    own_broker.kill()
    without_markers(own_broker, *(f"{topic}-0" for topic in decided), "__consumer_offsets-0")
    own_broker.start()
    for topic, commit in decided.items():
        with Admin(own_broker.connection) as admin:
            bounds = admin.bounds(topic, [0])[0]
        assert bounds.stable_end == bounds.end
        read = KafkaLog(own_broker.connection).read(topic, {0: (0, bounds.end)})
        values = [record.value for batch in read for record in batch.records()]
        assert values == ([b"v"] if commit else [])
        groups = Groups(own_broker.connection)
        positions = groups.committed(f"{topic}-readers", [Place(topic, 0)])
        groups.close()
        assert [each.offset for each in positions.values()] == ([7] if commit else [])


def test_an_open_transaction_is_left_to_its_coordinator(
    connection: Connection, topic_name: str
) -> None:
    create(connection, topic_name)
    servers = connection.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic_name})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic_name, key=b"k", value=b"v")
    assert producer.flush(WAIT_S) == 0
    assert end_hanging_transactions(connection, KafkaLog(connection)) == 0
    (found,) = open_transactions(connection, topic_name, [0])
    assert found.transactional_id == topic_name
    producer.commit_transaction(WAIT_S)
