"""Restoring: nothing is served before the end is reached, and listeners get the progress."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.errors import (
    NotReadyError,
)
from lastword.table.table_state import TableState
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables, every_operation, write_raw

S = TableState


class Restores:
    """Records the calls of a restore listener."""

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


def test_nothing_is_served_before_the_end_of_the_topic_is_reached(
    one_partition: str, tables: Tables, held: GatedStore
) -> None:
    write_raw(tables.connection, one_partition, [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    table = tables.make(one_partition, store=held)
    table.start()
    tables.callback(held.gate.set)  # before the table is closed
    assert held.waiting.wait(180)
    assert table.state is S.RESTORING
    for operation in every_operation(table):
        with pytest.raises(NotReadyError, match="is being restored") as refused:
            operation()
        assert refused.value.retriable
        assert "wait_ready()" in (refused.value.hint or "")
    held.gate.set()
    table.wait_ready()
    assert dict(table.items()) == {"a": 3, "b": 2}


def test_a_stale_read_is_answered_before_the_end_and_marked(
    one_partition: str, tables: Tables, held: GatedStore
) -> None:
    write_raw(tables.connection, one_partition, [(b"a", b"1")])
    table = tables.make(one_partition, store=held)
    table.start()
    tables.callback(held.gate.set)  # before the table is closed
    assert held.waiting.wait(180)
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


def test_waiting_ends_when_nothing_moves_and_names_the_position(
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


def test_the_restore_listener_gets_start_batches_and_end_with_offsets(
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
