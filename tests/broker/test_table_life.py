"""From start to close: what is served when, who hears of it, and what is left afterwards."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lastword.errors import (
    ConfigError,
    LastwordError,
    NotReadyError,
    StoreError,
    StoreLockedError,
    TableClosedError,
    TopicUnfitError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.stores.memory import MemoryStore
from lastword.table.state import TRANSITIONS, TableState
from lastword.table.table import Table
from lastword.testing import wait_until
from lastword.topics.creation import create_topic
from tests.support.stores import GatedStore
from tests.support.tables import Tables, write_raw

S = TableState


class Restores:
    """Writes down what a restore listener hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def on_start(self, topic: str, partition: int, start: int, end: int) -> None:
        self.heard.append(("start", topic, partition, start, end))

    def on_batch(self, topic: str, partition: int, position: int, records: int) -> None:
        self.heard.append(("batch", topic, partition, position, records))

    def on_end(self, topic: str, partition: int, records: int) -> None:
        self.heard.append(("end", topic, partition, records))

    def of(self, partition: int) -> list[tuple[Any, ...]]:
        return [(kind, *rest) for kind, _, p, *rest in self.heard if p == partition]


@pytest.fixture
def held() -> GatedStore:
    """A store whose applies wait until the gate is opened."""
    return GatedStore()


@pytest.fixture
def one_partition(admin: Admin, topic_name: str) -> str:
    create_topic(admin, topic_name, partitions=1)
    return topic_name


def reads_of(table: Table) -> list[Any]:
    """Every way to read and write, not yet done."""
    return [
        lambda: table.get("a"),
        lambda: table["a"],
        lambda: "a" in table,
        lambda: len(table),
        lambda: list(table),
        lambda: table.get_many(["a"]),
        table.items,
        lambda: table.range("a", "b"),
        lambda: table.prefix("a"),
        table.watch,
        lambda: table.put("a", 1),
        lambda: table.delete("a"),
        lambda: table.put_many({"a": 1}),
    ]


def test_nothing_is_served_before_the_end_of_the_topic_is_reached(
    one_partition: str, tables: Tables, held: GatedStore
) -> None:
    write_raw(tables.connection, one_partition, [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    table = tables.make(one_partition, store=held)
    table.start()
    tables.callback(held.gate.set)  # before the table is closed
    assert held.waiting.wait(20)
    assert table.state is S.RESTORING
    for read in reads_of(table):
        with pytest.raises(NotReadyError, match="is being restored") as refused:
            read()
        assert refused.value.retriable
        assert "wait_ready()" in (refused.value.hint or "")
    held.gate.set()
    table.wait_ready()
    assert dict(table.items()) == {"a": 3, "b": 2}


def test_who_asks_for_it_is_answered_before_the_end_and_told_so(
    one_partition: str, tables: Tables, held: GatedStore
) -> None:
    write_raw(tables.connection, one_partition, [(b"a", b"1")])
    table = tables.make(one_partition, store=held)
    table.start()
    tables.callback(held.gate.set)  # before the table is closed
    assert held.waiting.wait(20)
    query = table.query
    early = query.get("a", allow_stale=True)
    assert (early.value, early.stale, early.position.offsets) == (None, True, {0: 0})
    assert query.contains("a", allow_stale=True).stale
    assert (query.count(allow_stale=True).value, query.count(allow_stale=True).stale) == (0, True)
    held.gate.set()
    table.wait_ready()
    ready = query.get("a", allow_stale=True)
    assert ready.value is not None
    assert (ready.value.value, ready.stale) == (1, False)


def test_waiting_gives_up_when_nothing_moves_and_says_where_it_stands(
    one_partition: str, tables: Tables, held: GatedStore
) -> None:
    write_raw(tables.connection, one_partition, [(b"a", b"1")])
    table = tables.make(one_partition, store=held)
    table.start()
    tables.callback(held.gate.set)  # before the table is closed
    with pytest.raises(NotReadyError, match=r"has not moved for 1 s: .* still being written"):
        table.wait_ready(stall_timeout_s=1.0)
    held.gate.set()
    table.wait_ready()
    assert table["a"] == 1


def test_a_table_is_ready_inside_with_and_stopped_after_it(
    topic: str, connection: Connection, tmp_path: Path, store: str
) -> None:
    table = Table(topic, connection=connection, store=store, state_dir=tmp_path)
    assert table.state is S.CREATED
    with table as entered:
        assert entered is table
        assert table.state is S.RUNNING
        table.put("a", 1)
    assert table.state is S.STOPPED
    for read in reads_of(table):
        with pytest.raises(TableClosedError, match="is not open") as refused:
            read()
        assert refused.value.hint


def test_closing_is_idempotent_from_every_state(topic: str, tables: Tables) -> None:
    never_started, started, ready = (tables.make(topic, name=f"t{n}") for n in range(3))
    started.start()
    ready.start()
    ready.wait_ready()
    for table in (never_started, started, ready):
        table.close()
        table.close()
        assert table.state is S.STOPPED


def test_a_table_cannot_be_started_twice(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    with pytest.raises(TableClosedError, match="was started before") as refused:
        table.start()
    assert "new Table" in (refused.value.hint or "")
    table.close()
    with pytest.raises(TableClosedError, match="was started before"):
        table.start()


def test_a_table_that_was_never_started_says_so(topic: str, tables: Tables) -> None:
    table = tables.make(topic)
    with pytest.raises(TableClosedError, match="is not open") as refused:
        table.get("a")
    assert "start()" in (refused.value.hint or "")


def test_the_state_listener_hears_valid_transitions_only(topic: str, tables: Tables) -> None:
    heard: list[tuple[TableState, TableState]] = []
    table = tables.open(topic, on_state=lambda old, new: heard.append((old, new)))
    table.close()
    assert [new for _, new in heard] == [S.RESTORING, S.RUNNING, S.PENDING_SHUTDOWN, S.STOPPED]
    assert all(new in TRANSITIONS[old] for old, new in heard)
    assert all(before[1] is after[0] for before, after in pairwise(heard))


def test_a_state_listener_may_read_and_write_as_soon_as_the_table_runs(
    topic: str, tables: Tables
) -> None:
    answers: list[Any] = []

    def on_state(_old: TableState, new: TableState) -> None:
        if new is S.RUNNING:
            answers.append((table.get("a"), len(table)))

    write_raw(tables.connection, topic, [(b"a", b"1")])
    table = tables.make(topic, on_state=on_state)
    table.start()
    wait_until(lambda: answers, "the listener hears that the table runs")
    assert answers == [(1, 1)]


def test_the_restore_listener_hears_start_batches_and_end_with_offsets(
    one_partition: str, tables: Tables, store: str
) -> None:
    write_raw(tables.connection, one_partition, [(b"%d" % n, b"1") for n in range(10)])
    restores = Restores()
    table = tables.open(one_partition, store=store, restore_listener=restores)
    assert {topic for _, topic, *_ in restores.heard} == {one_partition}
    first, *batches, last = restores.of(0)
    assert first == ("start", 0, 10)
    assert {kind for kind, *_ in batches} == {"batch"}
    assert [position for _, position, _ in batches][-1] == 10
    assert sum(records for *_, records in batches) == 10
    assert last == ("end", 10)
    table.put("after", 1)
    assert restores.of(0)[-1] == last


def test_an_empty_partition_is_restored_too(one_partition: str, tables: Tables) -> None:
    restores = Restores()
    tables.open(one_partition, restore_listener=restores)
    assert restores.of(0) == [("start", 0, 0), ("end", 0)]


def test_a_partial_restore_starts_at_the_checkpoint(one_partition: str, tables: Tables) -> None:
    first = tables.open(one_partition, store="rocksdb")
    first.put_many({f"key-{n}": n for n in range(5)})
    first.close()
    write_raw(tables.connection, one_partition, [(b"key-0", b"100"), (b"new", b"1")])
    restores = Restores()
    again = tables.open(one_partition, store="rocksdb", restore_listener=restores)
    start, *batches, end = restores.of(0)
    assert start == ("start", 5, 7)
    assert sum(records for *_, records in batches) == 2
    assert end == ("end", 2)
    assert (again["key-0"], again["key-4"], again["new"], len(again)) == (100, 4, 1, 6)
    (progress,) = again.progress()
    assert (progress.start, progress.position, progress.end) == (5, 7, 7)
    assert (progress.records, progress.done) == (2, True)


def test_a_memory_table_restores_everything_each_time(one_partition: str, tables: Tables) -> None:
    tables.open(one_partition).put_many({"a": 1, "b": 2})
    restores = Restores()
    again = tables.open(one_partition, restore_listener=restores)
    assert restores.of(0)[0] == ("start", 0, 2)
    assert dict(again.items()) == {"a": 1, "b": 2}


def test_a_second_table_on_one_state_directory_is_refused_and_the_first_goes_on(
    topic: str, tables: Tables
) -> None:
    first = tables.open(topic, store="rocksdb")
    with pytest.raises(StoreLockedError, match="is in use by process"):
        tables.open(topic, store="rocksdb")
    first.put("a", 1)
    first.close()
    assert tables.open(topic, store="rocksdb")["a"] == 1


def test_an_error_in_the_following_thread_reaches_the_reader(
    one_partition: str, tables: Tables
) -> None:
    class FullDisk(MemoryStore):
        def apply(self, puts: Any, deletes: Any, checkpoint: bytes) -> None:
            if puts:
                raise StoreError("no space left", hint="make room")
            super().apply(puts, deletes, checkpoint)

    states: list[TableState] = []
    table = tables.open(
        one_partition,
        store=lambda _partition, _directory: FullDisk(),
        on_state=lambda _old, new: states.append(new),
    )
    write_raw(tables.connection, one_partition, [(b"a", b"1")])
    wait_until(lambda: table.state is S.ERROR, "the table fails")
    with pytest.raises(StoreError, match="no space left") as failed:
        table.get("a")
    assert failed.value.hint == "make room"
    with pytest.raises(StoreError, match="no space left"):
        table.wait_ready()
    table.close()
    assert states[-3:] == [S.ERROR, S.PENDING_SHUTDOWN, S.STOPPED]


def test_what_failed_to_open_holds_nothing(one_partition: str, tables: Tables) -> None:
    threads = threading.active_count()
    broken = tables.make(one_partition, store=lambda _partition, _directory: object())
    with pytest.raises(ConfigError, match="is not a store"):
        broken.start()
    broken.close()
    assert broken.state is S.STOPPED
    assert threading.active_count() == threads
    assert tables.open(one_partition, store="rocksdb").state is S.RUNNING


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"key": "jsn"}, "'jsn' is not a codec"),
        ({"value": "jsn"}, "'jsn' is not a codec"),
        ({"store": "rocks"}, "'rocks' is not a store"),
        ({"store": "lru:0"}, "'lru:0' is not a store"),
        ({"on_bad": "ignore"}, "on_bad='ignore' is not a policy"),
        ({"bootstrap_servers": "localhost:9092"}, "either bootstrap_servers or connection"),
        ({"connection": None}, "either bootstrap_servers or connection"),
        ({"name": "a/b"}, "'a/b' cannot name a directory"),
        ({"application_id": ""}, "'' cannot name a directory"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_opened(
    connection: Connection, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint) as refused:
        Table("topic", **({"connection": connection} | options))
    assert refused.value.hint


def test_a_topic_that_is_not_compacted_is_refused_with_the_repair(
    admin: Admin, topic_name: str, tables: Tables
) -> None:
    admin.create(topic_name, partitions=1, replication=1, settings={"cleanup.policy": "delete"})
    with pytest.raises(TopicUnfitError, match=r"cleanup\.policy") as refused:
        tables.open(topic_name)
    assert "lastword topic alter" in str(refused.value) + (refused.value.hint or "")


def test_every_error_of_a_table_is_a_lastword_error() -> None:
    assert issubclass(NotReadyError, LastwordError)
    assert issubclass(TableClosedError, LastwordError)
