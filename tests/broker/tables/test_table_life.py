"""From start to close: when reads are served, what listeners get, and what is left afterwards."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lastword.errors import (
    ConfigError,
    StoreError,
    StoreLockedError,
    TableClosedError,
    TopicUnfitError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.stores.memory import MemoryStore
from lastword.table.table import Table
from lastword.table.table_state import TRANSITIONS, TableState
from lastword.testing import wait_until
from tests.support.local_tables.tables import Tables, every_operation, write_raw

S = TableState


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
    for operation in every_operation(table):
        with pytest.raises(TableClosedError, match="is closed") as refused:
            operation()
        assert "new Table" in (refused.value.hint or "")


def test_a_table_shows_its_name_topic_and_state(topic: str, tables: Tables) -> None:
    table = tables.make(topic, name="users")
    assert repr(table) == f"<Table users on {topic}: CREATED>"


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


def test_the_state_listener_gets_valid_transitions_only(topic: str, tables: Tables) -> None:
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


def test_a_second_table_on_one_state_directory_is_refused_and_the_first_continues(
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
    assert table.query.get("before", allow_stale=True).stale
    assert table.query.count(allow_stale=True).stale
    assert table.query.scan(allow_stale=True).stale
    table.close()
    assert states[-3:] == [S.ERROR, S.PENDING_SHUTDOWN, S.STOPPED]


def test_an_error_while_starting_is_remembered_until_the_table_is_closed(
    one_partition: str, tables: Tables
) -> None:
    class Unreadable(MemoryStore):
        def checkpoint(self) -> bytes | None:
            raise StoreError("cannot be read", hint="throw it away")

    table = tables.make(one_partition, store=lambda _partition, _directory: Unreadable())
    with pytest.raises(StoreError, match="cannot be read"):
        table.start()
    assert table.state is S.ERROR
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot be read"):
            table.get("a")
    table.close()
    assert table.state is S.STOPPED
    assert tables.open(one_partition, store="rocksdb").state is S.RUNNING


def test_a_table_that_failed_to_open_holds_nothing(one_partition: str, tables: Tables) -> None:
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
