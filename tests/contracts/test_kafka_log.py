"""The contract of a log source on KafkaLog, against the session's broker."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.native import NATIVE
from lastword.testing.log_range_contract import LogRangeContract
from lastword.testing.log_source_contract import LogSourceContract
from lastword.testing.log_writer import NewRecord
from tests.support.shared_tables.wire import RawName, RawRecord, produce_raw

pytestmark = pytest.mark.broker

FLUSH_S = 60.0
LONGER_THAN_CONNECTING_S = 0.3


class PlainWriter:
    """Writes with the Kafka client, and by hand what the client would not send."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, topic: str, records: Sequence[NewRecord], *, partition: int = 0) -> None:
        if any(isinstance(name, bytes) for each in records for name, _ in each.headers):
            produce_raw(self._connection, topic, [_by_hand(each) for each in records])
            return
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 5}
        producer = Producer(self._connection.librdkafka() | settings)
        _produce(producer, topic, records, partition)

    def begin(self, topic: str, records: Sequence[NewRecord]) -> PlainTransaction:
        settings = {"transactional.id": uuid4().hex, "linger.ms": 0}
        producer = Producer(self._connection.librdkafka() | settings)
        producer.init_transactions(FLUSH_S)
        producer.begin_transaction()
        _produce(producer, topic, records, 0)
        return PlainTransaction(producer)


class PlainTransaction:
    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def commit(self) -> None:
        self._producer.commit_transaction(FLUSH_S)

    def abort(self) -> None:
        self._producer.abort_transaction(FLUSH_S)


def _produce(producer: Producer, topic: str, records: Sequence[NewRecord], partition: int) -> None:
    for each in records:
        headers = list(each.headers)
        producer.produce(topic, each.value, each.key, partition=partition, headers=headers)
    assert producer.flush(FLUSH_S) == 0


def _by_hand(record: NewRecord) -> RawRecord:
    names = ((RawName(n) if isinstance(n, bytes) else n, value) for n, value in record.headers)
    return RawRecord(record.key or b"", record.value, list(names))


class ReadFromKafka(LogSourceContract, LogRangeContract):
    def make_writer(self, connection: Connection) -> PlainWriter:
        return PlainWriter(connection)

    def test_a_reader_connects_when_it_gets_its_first_partition(self, topic_name: str) -> None:
        """Only then does librdkafka ask for the leaders of the topic as soon as it is connected."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            reader = self.make_source(Connection(bootstrap_servers=address)).follow(topic_name)
            assert reader.poll(LONGER_THAN_CONNECTING_S) == []
            listener.settimeout(0)
            with pytest.raises(BlockingIOError):
                listener.accept()
            reader.assign(0, 0)
            listener.settimeout(FLUSH_S)
            listener.accept()[0].close()
            reader.close()

    @pytest.mark.parametrize("partitions", [[], [0]])
    def test_a_closed_reader_refuses_to_read(self, topic_name: str, partitions: list[int]) -> None:
        nobody = Connection(bootstrap_servers="127.0.0.1:1")
        reader = self.make_source(nobody).follow(topic_name)
        for partition in partitions:
            reader.assign(partition, 0)
        reader.close()
        reader.close()
        with pytest.raises(RuntimeError, match="closed"):
            reader.poll(0.01)
        with pytest.raises(RuntimeError, match="closed"):
            reader.assign(1, 0)


class TestTheDefault(ReadFromKafka):
    """Native, wherever it can be."""

    def make_source(self, connection: Connection) -> KafkaLog:
        source = KafkaLog(connection)
        assert source.native == (NATIVE is not None)
        return source


class TestWithTheKafkaClient(ReadFromKafka):
    """As it is where there was no C compiler."""

    def make_source(self, connection: Connection) -> KafkaLog:
        return KafkaLog(connection, native=False)
