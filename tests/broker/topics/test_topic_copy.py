"""A topic copied into a wider one: what is kept, what is refused, and what a crash leaves."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from lastword.errors import ConfigError, TakenOverError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY, REQUEST_HEADER, Position, Record
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from lastword.topics.copying.comparison import Comparison, compare
from lastword.topics.copying.target import prepare
from lastword.topics.copying.topic_copy import TopicCopy
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables
from tests.support.shared_tables.partitioned_tables import PartitionedTables

pytestmark = pytest.mark.broker

WIDE = 7
KEYS = 500


class Copier:
    """Copies ``source`` into ``target``, both of this test alone."""

    def __init__(self, admin: Admin, connection: Connection, topic: str) -> None:
        self.admin, self.connection = admin, connection
        self.source, self.target = topic, f"{topic}-wide"
        self.log = KafkaLog(connection)

    def open(self, partitions: int | None = WIDE) -> TopicCopy:
        ends = prepare(self.admin, self.source, self.target, partitions)
        return TopicCopy(self.admin, self.connection, self.log, ends)

    def once(self) -> Comparison:
        with self.open() as copying:
            copying.catch_up(lambda done, total: None)
            return self.compare(copying)

    def compare(self, copying: TopicCopy) -> Comparison:
        ends, positions = copying.ends, copying.positions
        return compare(self.admin, self.log, ends, positions, lambda done, total: None)

    def records(self, topic: str) -> list[Record]:
        return read_log(self.connection, topic)


@pytest.fixture
def copier(admin: Admin, connection: Connection, topic: str) -> Copier:
    return Copier(admin, connection, topic)


Produce = Callable[..., None]


@pytest.fixture
def produce(connection: Connection, topic: str) -> Iterator[Produce]:
    producer = Producer(connection.librdkafka() | {"partitioner": "murmur2_random"})

    def send(key: bytes, value: bytes | None, **options: Any) -> None:
        producer.produce(options.pop("topic", topic), value, key, **options)
        assert producer.flush(60) == 0

    yield send


def current(records: list[Record]) -> dict[bytes, tuple[Any, ...]]:
    """key -> what a table must show of it."""
    state: dict[bytes, tuple[Any, ...]] = {}
    for record in sorted(records, key=lambda each: (each.partition, each.offset)):
        assert record.key is not None
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = (record.value, record.timestamp_ms, record.headers)
    return state


def test_values_deletes_headers_and_times_are_kept(
    copier: Copier, produce: Produce, admin: Admin
) -> None:
    admin.alter(copier.source, {"delete.retention.ms": "123456"})
    for number in range(50):
        produce(b"key-%d" % number, b"%d" % number, timestamp=1_000 + number)
    produce(b"key-1", b"new", headers=[("a", b"1"), ("b", None)], timestamp=5_000)
    produce(b"key-2", None)
    produce(b"empty", b"")
    result = copier.once()
    assert (result.equal, result.faults, result.moving) == (50, 0, 0)
    copied = copier.records(copier.target)
    assert current(copied) == current(copier.records(copier.source))
    assert current(copied)[b"key-1"] == (b"new", 5_000, (("a", b"1"), ("b", None)))
    assert any(each.key == b"key-2" and each.value is None for each in copied), "the tombstone"
    home = Keyspace(WIDE)
    assert all(home.partition_of(each.key or b"") == each.partition for each in copied)
    assert admin.settings(copier.target)["delete.retention.ms"] == "123456"


def test_only_what_a_table_reads_is_copied(copier: Copier, produce: Produce) -> None:
    """Neither aborted records nor those in a partition that is not the key's."""
    key = b"at home"
    elsewhere = (Keyspace(3).partition_of(key) + 1) % 3
    produce(key, b"old", partition=elsewhere)
    produce(b"kept", b"1")
    writer = Producer(copier.connection.librdkafka() | {"transactional.id": copier.source})
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(copier.source, b"aborted", b"gone")
    writer.flush()
    writer.abort_transaction()
    with copier.open() as copying:
        copying.catch_up(lambda done, total: None)
        assert copying.counts.left_out == 1
        assert copier.compare(copying).faults == 0
    assert list(current(copier.records(copier.target))) == [b"kept"]


def test_fences_and_request_ids_of_owners_stay_behind(copier: Copier, tables: Tables) -> None:
    users = tables.open(copier.source, writes="owned", application_id=copier.source)
    users.put("a", 1)
    users.increment("b")
    source = copier.records(copier.source)
    assert any(each.key == FENCE_KEY for each in source)
    assert any(name == REQUEST_HEADER for each in source for name, _ in each.headers)
    assert copier.once().equal == 2
    copied = copier.records(copier.target)
    assert {each.key for each in copied} == {b"a", b"b"}
    assert not any(each.headers for each in copied)
    wide = tables.open(copier.target, writes="owned", application_id=copier.target)
    assert dict(wide.items()) == {"a": 1, "b": 1}
    assert wide.increment("b").value == 2


def test_the_instances_of_a_partitioned_table_move_to_the_wider_topic(
    copier: Copier, tmp_path: Path
) -> None:
    """The steps of docs/guides/more-partitions.md: the new ones follow while the old ones serve."""
    rows = {f"key-{number}": number for number in range(50)}
    with (
        PartitionedTables(copier.connection, tmp_path / "old", copier.source) as old,
        PartitionedTables(copier.connection, tmp_path / "new", copier.target) as new,
    ):
        writer = old.open("a", writes="owned")
        writer.put_many(rows)
        assert copier.once().faults == 0
        for name in "ab":
            new.begin(name, writes="owned", standbys=0)
        for table in new.instances.values():
            table.wait_ready()
        writer.put_many(dict.fromkeys(rows, "later"))
        assert copier.once().faults == 0, "fences of the new owners are not in the way"
        writer.close()
        a, b = new.instances.values()
        version = a.put("key-0", "moved")
        assert b.query.get("key-0", at_least=Position.after(version)).value is not None
        assert dict(b.items()) == dict.fromkeys(rows, "later") | {"key-0": "moved"}


def test_a_copy_continues_where_it_stopped(copier: Copier, produce: Produce) -> None:
    produce(b"a", b"1")
    copier.once()
    produce(b"a", b"2")
    produce(b"b", b"1")
    assert copier.once().equal == 2
    assert len(copier.records(copier.target)) == 3, "each record once"


def test_a_second_copy_fences_the_first(copier: Copier, produce: Produce) -> None:
    produce(b"a", b"1")
    with copier.open() as first:
        assert copier.once().equal == 1
        with pytest.raises(TakenOverError):
            first.catch_up(lambda done, total: None)
    assert len(copier.records(copier.target)) == 1


def test_a_target_with_foreign_records_is_refused(copier: Copier, produce: Produce) -> None:
    create_topic(copier.admin, copier.target, partitions=WIDE)
    produce(b"a", b"1", topic=copier.target)
    with pytest.raises(TopicUnfitError, match="not copied from"), copier.open():
        pass


def test_a_topic_that_cannot_be_copied_is_refused(copier: Copier, produce: Produce) -> None:
    with pytest.raises(ConfigError, match="there is no topic") as caught:
        copier.open(partitions=None)
    assert "--partitions" in (caught.value.hint or "")
    produce(b"a", b"1")
    copier.once()
    with pytest.raises(ConfigError, match="7 partitions"):
        copier.open(partitions=8)
    copier.admin.delete(copier.source)
    create_topic(copier.admin, copier.source, partitions=3)
    with pytest.raises(TopicUnfitError, match="not copied from"), copier.open():
        pass
    copier.admin.alter(copier.source, {"cleanup.policy": "delete"})
    with pytest.raises(TopicUnfitError, match="not compacted"):
        copier.open()


def test_a_comparison_finds_every_kind_of_difference(copier: Copier, produce: Produce) -> None:
    for key in (b"same", b"other", b"lost"):
        produce(key, b"1")
    with copier.open() as copying:
        copying.catch_up(lambda done, total: None)
        produce(b"other", b"2", topic=copier.target)
        produce(b"lost", None, topic=copier.target)
        produce(b"more", b"1", topic=copier.target)
        produce(b"same", b"2")
        assert copying.lag()[0] == 1, "what is not copied yet"
        result = copier.compare(copying)
    assert (result.equal, result.moving, result.faults) == (0, 1, 3)
    assert (result.missing, result.extra, result.different) == (1, 1, 1)
    assert set(result.examples) == {b"other", b"lost", b"more"}


def test_a_copy_that_is_killed_while_others_write_ends_equal(
    copier: Copier, connection: Connection, tmp_path: Path
) -> None:
    dice = random.Random(5)
    stop = threading.Event()
    producer = Producer(connection.librdkafka() | {"partitioner": "murmur2_random"})

    def write(count: int) -> None:
        for _ in range(count):
            value = None if dice.random() < 0.2 else b"%d" % dice.randrange(10**9)
            producer.produce(copier.source, value, b"key-%d" % dice.randrange(KEYS))
        producer.flush()

    def keep_writing() -> None:
        while not stop.is_set():
            write(200)

    write(8_000)
    writing = threading.Thread(target=keep_writing)
    writing.start()
    command = [Path(sys.executable).with_name("lastword"), "topic", "copy"]
    command += [copier.source, copier.target, "--partitions", str(WIDE), "--json"]
    environ = {
        "LASTWORD_HOME": str(tmp_path / "home"),
        "LASTWORD_BOOTSTRAP_SERVERS": connection.bootstrap_servers,
        "PATH": os.environ["PATH"],
    }
    try:
        for end in (signal.SIGKILL, signal.SIGINT):
            before = copied_so_far(copier)
            with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
                wait_until(lambda: copied_so_far(copier) > before, "progress", timeout=180)  # noqa: B023
                process.send_signal(end)
    finally:
        stop.set()
        writing.join()
    finished = subprocess.run(
        [*command, "--once"], env=environ, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    *_, compared = map(json.loads, finished.stdout.splitlines())
    assert [compared[kind] for kind in ("moving", "missing", "extra", "different")] == [0] * 4
    source, target = copier.records(copier.source), copier.records(copier.target)
    assert current(target) == current(source)
    assert len(target) == len(source), "each record once, whatever was killed"


def copied_so_far(copier: Copier) -> int:
    if copier.target not in copier.admin.topics():
        return 0
    bounds = copier.admin.bounds_answered(copier.target, range(WIDE))
    return sum(each.stable_end for each in bounds.values())
