"""The writer and its producer: order, evictions, and outcomes when nobody answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from lastword.errors import IndeterminateError, InvalidRecordError, NotUpToPositionError
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import Outgoing, RecordProducer
from lastword.keyspace import Keyspace
from lastword.records import Position
from lastword.testing import wait_until
from lastword.writer.writer import Writer
from tests.support.tables import read_raw

BATCH_BYTES = 1_000_000
IMPATIENT_S = 1.0  # for answers that will not come
OWNER = ("lastword-owner", b"tests")


def readable_at_once(position: Position, timeout_s: float) -> None:
    """What a follower that is always up to date does."""


@pytest.fixture
def writer(connection: Connection, topic: str) -> Iterator[Writer]:
    opened = Writer(
        connection,
        topic,
        keyspace=Keyspace(3),
        batch_bytes=BATCH_BYTES,
        wait_for=readable_at_once,
        owner=OWNER,
    )
    yield opened
    opened.close()


@pytest.fixture
def unanswered() -> Iterator[RecordProducer]:
    """A producer whose cluster takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        silent = Connection(bootstrap_servers=f"127.0.0.1:{listener.getsockname()[1]}")
        producer = RecordProducer(silent, "topic", batch_bytes=BATCH_BYTES, timeout_s=IMPATIENT_S)
        yield producer
        producer.close()


def test_records_are_written_in_the_order_they_are_given(
    connection: Connection, topic: str, writer: Writer
) -> None:
    records = [Outgoing(b"key-%d" % (n % 5), b"%d" % n) for n in range(1_000)]
    deliveries = writer.write(records)
    versions = [delivery.version for delivery in deliveries]
    assert None not in versions
    log = {(r.partition, r.offset): r for r in read_raw(connection, topic)}
    for record, version in zip(records, versions, strict=True):
        assert version is not None
        assert (log[version].key, log[version].value) == (record.key, record.value)
        assert version.partition == Keyspace(3).partition_of(record.key)
    for key in {record.key for record in records}:
        of_key = [v for r, v in zip(records, versions, strict=True) if r.key == key and v]
        assert of_key == sorted(of_key)


def test_writes_of_many_threads_all_arrive(
    connection: Connection, topic: str, writer: Writer
) -> None:
    def write(thread: int) -> None:
        for n in range(50):
            writer.write_one(Outgoing(b"%d-%d" % (thread, n), b"x"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({record.key for record in read_raw(connection, topic)}) == 200


def test_the_owner_marks_each_record(connection: Connection, topic: str, writer: Writer) -> None:
    writer.write_one(Outgoing(b"a", b"1", (("trace", b"x"),)))
    (record,) = read_raw(connection, topic)
    assert record.headers == (("trace", b"x"), OWNER)


def test_a_write_waits_for_every_partition_it_touched(connection: Connection, topic: str) -> None:
    waited: list[Position] = []
    writer = Writer(
        connection,
        topic,
        keyspace=Keyspace(3),
        batch_bytes=BATCH_BYTES,
        wait_for=lambda position, _timeout: waited.append(position),
    )
    deliveries = writer.write([Outgoing(b"key-%d" % n, b"x") for n in range(20)])
    writer.close()
    ends = {d.version.partition: d.version.offset + 1 for d in deliveries if d.version}
    assert waited == [Position(ends)]
    assert len(ends) == 3


def test_a_record_that_is_written_but_not_read_back_says_both(
    connection: Connection, topic: str
) -> None:
    def never(position: Position, timeout_s: float) -> None:
        raise NotUpToPositionError("too slow")

    writer = Writer(
        connection, topic, keyspace=Keyspace(3), batch_bytes=BATCH_BYTES, wait_for=never
    )
    good, bad = writer.write([Outgoing(b"a", b"1"), Outgoing(b"", b"1")])
    assert good.version is not None
    assert isinstance(good.error, NotUpToPositionError)
    assert bad.version is None
    assert isinstance(bad.error, InvalidRecordError)
    with pytest.raises(NotUpToPositionError):
        writer.write_one(Outgoing(b"a", b"2"))
    writer.close()
    assert len(read_raw(connection, topic)) == 2


def test_an_evicted_key_gets_a_tombstone_with_the_owners_mark(
    connection: Connection, topic: str, writer: Writer
) -> None:
    writer.write([Outgoing(b"a", b"1"), Outgoing(b"b", b"1")])
    everything = Position(dict.fromkeys(range(3), 10))
    writer.evict([b"a"], everything)
    wait_until(lambda: len(read_raw(connection, topic)) == 3, "the tombstone is in the topic")
    (tombstone,) = (record for record in read_raw(connection, topic) if record.value is None)
    assert (tombstone.key, tombstone.headers) == (b"a", (OWNER,))


def test_an_eviction_does_not_delete_a_write_that_is_under_way(
    connection: Connection, topic: str
) -> None:
    applied, evicted = threading.Event(), threading.Event()

    def wait_for(_position: Position, _timeout_s: float) -> None:
        applied.set()
        assert evicted.wait(60)

    writer = Writer(
        connection,
        topic,
        keyspace=Keyspace(3),
        batch_bytes=BATCH_BYTES,
        wait_for=wait_for,
        owner=OWNER,
    )
    writing = threading.Thread(target=writer.write_one, args=(Outgoing(b"a", b"new"),))
    writing.start()
    assert applied.wait(60)
    writer.evict([b"a"], Position({Keyspace(3).partition_of(b"a"): 0}))  # before the new record
    evicted.set()
    writing.join(60)
    writer.close()
    assert [record.value for record in read_raw(connection, topic)] == [b"new"]


def test_no_answer_is_reported_as_indeterminate_and_never_as_failed(
    unanswered: RecordProducer,
) -> None:
    deliveries = unanswered.send([Outgoing(b"a", b"1"), Outgoing(b"b", b"2"), Outgoing(b"", b"3")])
    assert [type(delivery.error) for delivery in deliveries] == [
        IndeterminateError,
        IndeterminateError,
        InvalidRecordError,
    ]
    assert all(delivery.version is None for delivery in deliveries)
    first = deliveries[0].error
    assert first is not None
    assert "may or may not have been written" in str(first)
    assert "write the same value again" in (first.hint or "")


def test_nothing_to_send_takes_no_time(unanswered: RecordProducer) -> None:
    assert unanswered.send([]) == []


def test_a_closed_producer_can_be_closed_again(connection: Connection, topic: str) -> None:
    producer = RecordProducer(connection, topic, batch_bytes=BATCH_BYTES, timeout_s=60.0)
    producer.post([Outgoing(b"a", b"1")])
    producer.close()
    producer.close()
    assert [record.key for record in read_raw(connection, topic)] == [b"a"]
