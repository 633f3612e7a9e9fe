"""After a fatal error of its producer a table never wrote again.

The error ended the thread that serves the producer. From then on each write waited for its whole
timeout and was reported as indeterminate, although it was never sent. The producer is replaced
now: what was in flight is indeterminate, what was not taken has failed, the next write succeeds.

The broker's memory of the producer is what is broken here: batches sent in its name make the
sequence number of its next record one that the broker has long passed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import IndeterminateError, WriteFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import Delivery, RecordProducer
from lastword.records import Version, Write
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.shared_tables.wire import RawRecord, produce_raw, producer_of

# The broker remembers the last five batches of a producer and answers the same as to them again;
# up to five may be in flight.
BATCHES_TOO_MANY = 11


def desynchronize(connection: Connection, topic: str) -> None:
    """Make the broker refuse the next records of the topic's only producer."""
    state = producer_of(connection, topic)
    for number in range(BATCHES_TOO_MANY):
        later = state._replace(sequence=state.sequence + number)
        produce_raw(connection, topic, [RawRecord(b"other", b"x")], state=later)


@pytest.fixture
def producer(connection: Connection, topic: RealTopic) -> Iterator[RecordProducer]:
    """A producer that has written one record."""
    made = RecordProducer(connection, topic.name, batch_bytes=1_000_000, timeout_s=180.0)
    made.send([Write(b"first", b"1")])
    yield made
    made.close()


def test_a_table_writes_again(tables: Tables, connection: Connection, topic: RealTopic) -> None:
    table = tables.open(topic.name, **RAW)
    table.put(b"a", b"1")
    desynchronize(connection, topic.name)

    with pytest.raises(IndeterminateError, match="sequence"):
        table.put(b"a", b"2")

    table.put(b"a", b"3")
    assert table[b"a"] == topic.fold()[b"a"] == b"3"


def test_records_that_a_failed_producer_refuses_have_failed(
    connection: Connection, topic: RealTopic, producer: RecordProducer
) -> None:
    failed = producer._live
    desynchronize(connection, topic.name)
    (delivery,) = producer.send([Write(b"in flight", b"1")])
    assert isinstance(delivery, IndeterminateError)
    assert failed is not None and failed.failure is not None

    refusal = failed.enqueue(Write(b"never sent", b"1"), None, SYSTEM_CLOCK.monotonic())

    assert isinstance(refusal, WriteFailedError)
    assert b"never sent" not in set(topic.keys())


def test_every_write_of_many_threads_has_the_outcome_that_the_log_shows(
    connection: Connection, topic: RealTopic, producer: RecordProducer
) -> None:
    deliveries: dict[bytes, Delivery] = {}
    together = threading.Barrier(3)

    def write(thread: int) -> None:
        together.wait()
        for number in range(20):
            key = b"%d-%d" % (thread, number)
            (deliveries[key],) = producer.send([Write(key, b"x")])

    desynchronize(connection, topic.name)
    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)

    in_flight = {key for key, found in deliveries.items() if isinstance(found, IndeterminateError)}
    acknowledged = {key for key, found in deliveries.items() if isinstance(found, Version)}
    written = set(topic.keys()) & set(deliveries)
    assert acknowledged <= written <= acknowledged | in_flight
    assert {b"%d-19" % n for n in range(3)} <= acknowledged
