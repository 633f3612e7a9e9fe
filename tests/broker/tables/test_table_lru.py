"""A table with a fixed capacity: evicted keys are deleted in the topic too."""

from __future__ import annotations

import pytest

from lastword.errors import TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.records import SOLE_WRITER_HEADER
from lastword.table.table import Table
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables, read_raw, write_raw


@pytest.fixture
def topic(one_partition: str) -> str:
    """One partition only: the capacity is that of a partition."""
    return one_partition


def in_topic(connection: Connection, topic: str) -> set[bytes]:
    """The keys whose last record in the topic is not a tombstone."""
    last = {record.key or b"": record.value for record in read_raw(connection, topic)}
    return {key for key, value in last.items() if value is not None}


def wait_for_keys(connection: Connection, topic: str, keys: set[str]) -> None:
    expected = {key.encode() for key in keys}
    wait_until(lambda: in_topic(connection, topic) == expected, f"only {keys} are in the topic")


def test_the_table_never_holds_more_than_its_capacity(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:3")
    for n in range(10):
        table.put(f"key-{n}", n)
        assert len(table) <= 3
    assert dict(table.items()) == {"key-7": 7, "key-8": 8, "key-9": 9}


def test_an_eviction_becomes_a_tombstone_in_the_topic(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:3")
    for n in range(5):
        table.put(f"key-{n}", n)
    wait_for_keys(tables.connection, topic, {"key-2", "key-3", "key-4"})
    assert dict(tables.open(topic).items()) == {"key-2": 2, "key-3": 3, "key-4": 4}


def test_a_batch_larger_than_the_capacity_leaves_the_same_in_table_and_topic(
    topic: str, tables: Tables
) -> None:
    table = tables.open(topic, store="lru:3")
    outcomes = table.put_many({f"key-{n:02}": n for n in range(50)})
    assert {outcome.status for outcome in outcomes} == {"ok"}
    kept = {"key-47", "key-48", "key-49"}
    wait_for_keys(tables.connection, topic, kept)
    assert set(table) == kept


def test_reading_a_key_keeps_it(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:3")
    table.put_many({"a": 1, "b": 2, "c": 3})
    assert table["a"] == 1
    assert table.get_many(["b"]) == {"b": 2}
    table.put("d", 4)
    assert set(table) == {"a", "b", "d"}
    wait_for_keys(tables.connection, topic, {"a", "b", "d"})


def test_writing_a_key_again_keeps_it(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:2")
    for key, value in [("a", 1), ("b", 2), ("a", 3), ("c", 4)]:
        table.put(key, value)
    assert dict(table.items()) == {"a": 3, "c": 4}


def test_a_watcher_sees_an_eviction_as_a_delete(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:1")
    with table.watch() as watch:
        table.put("a", 1)
        table.put("b", 2)
        seen = [watch.take(20.0) for _ in range(3)]
    assert [(c.key, c.deleted) for c in seen if c is not None] == [
        ("a", False),
        ("b", False),
        ("a", True),
    ]


def test_a_restored_table_is_within_its_capacity_and_so_is_the_topic(
    topic: str, tables: Tables
) -> None:
    large = tables.open(topic, store="lru:10")
    large.put_many({f"key-{n}": n for n in range(10)})
    large.close()
    small = tables.open(topic, store="lru:4")
    kept = {"key-6", "key-7", "key-8", "key-9"}
    assert set(small) == kept
    wait_for_keys(tables.connection, topic, kept)


def test_nothing_is_deleted_in_the_topic_before_the_restore_is_done(
    topic: str, tables: Tables, admin: Admin
) -> None:
    large = tables.open(topic, store="lru:100")
    large.put_many({f"key-{n}": n for n in range(100)})
    large.close()
    ends: list[int] = []

    class Listener:
        def on_start(self, *_: object) -> None: ...
        def on_batch(self, *_: object) -> None: ...
        def on_end(self, *_: object) -> None:
            ends.append(admin.end_offsets(topic, [0])[0])

    small = tables.open(topic, store="lru:10", restore_listener=Listener())
    assert ends == [100]
    wait_for_keys(tables.connection, topic, {f"key-{n}" for n in range(90, 100)})
    assert len(small) == 10


def test_every_record_of_the_table_is_marked_as_its_own(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:1", application_id="shop", name="carts")
    table.put("a", 1, headers=(("trace", b"1"),))
    table.put("b", 2)
    table.delete("b")
    wait_for_keys(tables.connection, topic, set())
    writers = {dict(r.headers)[SOLE_WRITER_HEADER] for r in read_raw(tables.connection, topic)}
    assert writers == {b"shop/carts"}
    assert len(read_raw(tables.connection, topic)) >= 4


def test_the_mark_is_not_among_the_headers_of_an_entry(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:1")
    table.put("a", 1, headers=(("trace", b"1"),))
    entry = table.entry("a")
    assert entry is not None
    assert entry.headers == (("trace", b"1"),)


def test_a_topic_with_records_of_others_is_refused(topic: str, tables: Tables) -> None:
    write_raw(tables.connection, topic, [(b"a", b"1")])
    with pytest.raises(TopicUnfitError, match="offset 0 was not written by this table") as refused:
        tables.open(topic, store="lru:3")
    assert "separate topic" in (refused.value.hint or "")


def test_a_foreign_record_stops_a_running_table(topic: str, tables: Tables) -> None:
    table = tables.open(topic, store="lru:3")
    table.put("a", 1)
    write_raw(tables.connection, topic, [(b"b", b"2")])
    wait_until(lambda: table.state is TableState.ERROR, "the foreign record is noticed")
    with pytest.raises(TopicUnfitError, match="offset 1 was not written by this table"):
        table.get("a")


def contents(table: Table) -> dict[str, int]:
    return dict(table.items())


def test_each_partition_has_the_capacity(
    admin: Admin, topic_name: str, tables: Tables, connection: Connection
) -> None:
    name = f"{topic_name}-3"
    create_topic(admin, name, partitions=3)
    table = tables.open(name, store="lru:5")
    table.put_many({f"key-{n}": n for n in range(100)})
    assert len(table) == 15
    wait_until(lambda: len(in_topic(connection, name)) == 15, "the rest is deleted in the topic")
    assert {key.encode() for key in contents(table)} == in_topic(connection, name)
