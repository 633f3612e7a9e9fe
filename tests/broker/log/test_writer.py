"""What write paths do beyond their contract: marks, evictions, placement, and their producer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import IndeterminateError, InvalidRecordError
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import RecordProducer
from lastword.keyspace import Keyspace
from lastword.records import INSTANCE_HEADER, SOLE_WRITER_HEADER, Position, Write
from lastword.testing import wait_until
from lastword.writer.direct import DirectWriter
from lastword.writer.instance_fence import InstanceFence
from lastword.writer.read_your_writes import ReadYourWrites, WaitFor
from lastword.writer.sole_writer import SoleWriter
from lastword.writer.write_path import write_one
from tests.support.local_tables.tables import read_raw

BATCH_BYTES = 1_000_000
PATIENT_S = 60.0
IMPATIENT_S = 1.0  # for answers that will not come
MARK = (SOLE_WRITER_HEADER, b"tests")


def readable_at_once(position: Position, timeout_s: float) -> None:
    """What a follower that is always up to date does."""


def make_sole_writer(connection: Connection, topic: str, wait_for: WaitFor) -> SoleWriter:
    direct = DirectWriter(connection, topic, batch_bytes=BATCH_BYTES, timeout_s=PATIENT_S)
    path = ReadYourWrites(direct, topic, wait_for, timeout_s=PATIENT_S)
    return SoleWriter(path, direct, MARK, InstanceFence(topic, SYSTEM_CLOCK))


@pytest.fixture
def sole_writer(connection: Connection, topic: str) -> Iterator[SoleWriter]:
    writer = make_sole_writer(connection, topic, readable_at_once)
    yield writer
    writer.close()


@pytest.fixture
def unanswered() -> Iterator[RecordProducer]:
    """A producer whose cluster accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        silent = Connection(bootstrap_servers=f"127.0.0.1:{listener.getsockname()[1]}")
        producer = RecordProducer(silent, "topic", batch_bytes=BATCH_BYTES, timeout_s=IMPATIENT_S)
        yield producer
        producer.close()


def test_a_key_with_a_suffix_goes_where_the_rest_of_it_belongs(
    connection: Connection, topic: str
) -> None:
    keyspace = Keyspace(3, suffix_bytes=8)
    home = keyspace.partition_of
    path = DirectWriter(
        connection, topic, batch_bytes=BATCH_BYTES, timeout_s=PATIENT_S, keyspace=keyspace
    )
    keys = [b"user-%d" % n + bytes(8) for n in range(20)]
    path.write([Write(key, b"x") for key in keys])
    elsewhere = (home(keys[0]) + 1) % 3
    version = write_one(path, Write(keys[0], b"by hand", partition=elsewhere))
    path.close()
    assert version.partition == elsewhere
    placed = {r.key: r.partition for r in read_raw(connection, topic) if r.value == b"x"}
    assert placed == {key: home(key) for key in keys}
    assert placed != {key: Keyspace(3).partition_of(key) for key in keys}


def test_a_sole_writer_marks_each_record(
    connection: Connection, topic: str, sole_writer: SoleWriter
) -> None:
    sole_writer.write([Write(b"a", b"1", (("trace", b"x"),)), Write(b"a", b"2")])
    first, second = read_raw(connection, topic)
    assert first.headers[:2] == (("trace", b"x"), MARK)
    assert second.headers[0] == MARK
    assert first.headers[2:] == second.headers[1:]
    assert [name for name, _ in second.headers] == [SOLE_WRITER_HEADER, INSTANCE_HEADER]


def test_an_evicted_key_gets_a_marked_tombstone(
    connection: Connection, topic: str, sole_writer: SoleWriter
) -> None:
    sole_writer.write([Write(b"a", b"1"), Write(b"b", b"1")])
    everything = Position(dict.fromkeys(range(3), 10))
    sole_writer.evict([b"a"], everything)
    wait_until(lambda: len(read_raw(connection, topic)) == 3, "the tombstone is in the topic")
    (tombstone,) = (record for record in read_raw(connection, topic) if record.value is None)
    assert (tombstone.key, tombstone.headers[0]) == (b"a", MARK)


def test_an_eviction_does_not_delete_a_write_in_flight(connection: Connection, topic: str) -> None:
    applied, evicted = threading.Event(), threading.Event()

    def wait_for(_position: Position, _timeout_s: float) -> None:
        applied.set()
        assert evicted.wait(180)

    writer = make_sole_writer(connection, topic, wait_for)
    writing = threading.Thread(target=write_one, args=(writer, Write(b"a", b"new")))
    writing.start()
    assert applied.wait(180)
    writer.evict([b"a"], Position({Keyspace(3).partition_of(b"a"): 0}))  # before the new record
    evicted.set()
    writing.join(180)
    writer.close()
    assert [record.value for record in read_raw(connection, topic)] == [b"new"]


def test_no_answer_is_reported_as_indeterminate_and_never_as_failed(
    unanswered: RecordProducer,
) -> None:
    deliveries = unanswered.send([Write(b"a", b"1"), Write(b"b", b"2"), Write(b"", b"3")])
    assert [type(delivery) for delivery in deliveries] == [
        IndeterminateError,
        IndeterminateError,
        InvalidRecordError,
    ]


def test_nothing_to_send_takes_no_time(unanswered: RecordProducer) -> None:
    assert unanswered.send([]) == []


def test_records_posted_before_a_close_are_written(connection: Connection, topic: str) -> None:
    producer = RecordProducer(connection, topic, batch_bytes=BATCH_BYTES, timeout_s=PATIENT_S)
    producer.post([Write(b"a", b"1")])
    producer.close()
    producer.post([Write(b"b", b"1")])
    assert [record.key for record in read_raw(connection, topic)] == [b"a"]
