"""The Kafka client's reader and the cyclic collector; what readers do is in the contract suite."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import EndOfLog, LogReader
from lastword.records import Batch
from lastword.testing import wait_until
from tests.support.local_tables.tables import write_raw

BETWEEN_LOOKS_S = 0.01


@pytest.fixture
def reader(connection: Connection, one_partition: str) -> Iterator[LogReader]:
    reading = KafkaLog(connection, native=False).follow(one_partition)
    reading.assign(0, 0)
    yield reading
    reading.close()


def wait_for(reader: LogReader, kind: type[Batch] | type[EndOfLog]) -> None:
    wait_until(lambda: any(isinstance(each, kind) for each in reader.poll(0.1)), kind.__name__)


def test_the_collector_is_back_after_a_poll(
    connection: Connection, one_partition: str, reader: LogReader
) -> None:
    write_raw(connection, one_partition, [(b"a", b"1")])
    wait_for(reader, Batch)
    assert gc.isenabled()


def test_the_collector_is_on_after_a_close(reader: LogReader) -> None:
    reader.close()
    assert gc.isenabled()


def test_the_collector_works_while_a_reader_waits(reader: LogReader) -> None:
    wait_for(reader, EndOfLog)
    waiting = threading.Thread(target=reader.poll, args=(0.3,))
    waiting.start()
    seen = set()
    while waiting.is_alive():
        seen.add(gc.isenabled())
        waiting.join(BETWEEN_LOOKS_S)
    assert seen == {True}
