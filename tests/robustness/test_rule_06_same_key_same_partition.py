"""Rule 6: every record of a key is in the partition murmur2 gives it; others are reported."""

from __future__ import annotations

import pytest

from lastword.keyspace import Keyspace
from lastword.table.table import Table
from tests.support.local_tables.real_topic import RAW, MakeTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take

KEYS = [b"user-%d" % n for n in range(30)]


def misplaced(table: Table) -> int:
    return table.metrics.counter("misplaced_records_total").value


def test_records_placed_by_librdkafkas_default_partitioner_are_counted_and_dropped(
    make_topic: MakeTopic, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    topic = make_topic(partitions=3)
    topic.produce(*((key, b"right") for key in KEYS))
    topic.produce(*((key, b"stray") for key in KEYS), partitioner="consistent_random")
    right = {
        r.key: r.value for r in topic.log() if Keyspace(3).partition_of(r.key or b"") == r.partition
    }
    strays = [r for r in topic.log() if Keyspace(3).partition_of(r.key or b"") != r.partition]
    assert strays
    table = tables.open(topic.name, **RAW)
    assert dict(table.items()) == right
    assert misplaced(table) == len(strays)
    reported = [r for r in caplog.records if "does not belong" in r.getMessage()]
    assert len(reported) == 1
    assert "in a partition that their key does not belong to" in reported[0].getMessage()


def test_a_stray_tombstone_deletes_nothing(make_topic: MakeTopic, tables: Tables) -> None:
    topic = make_topic(partitions=3)
    table = tables.open(topic.name, **RAW)
    version = table.put(b"user-1", b"1")
    topic.produce((b"user-1", None), partition=(version.partition + 1) % 3)
    table.put_many({key: b"2" for key in KEYS if key != b"user-1"})
    assert table[b"user-1"] == b"1"
    assert misplaced(table) == 1


def test_a_watcher_does_not_see_strays(make_topic: MakeTopic, tables: Tables) -> None:
    topic = make_topic(partitions=3)
    table = tables.open(topic.name, **RAW)
    with table.watch() as watch:
        here = Keyspace(3).partition_of(b"user-1")
        topic.produce((b"user-1", b"stray"), partition=(here + 1) % 3)
        topic.produce((b"user-1", b"right"), partition=here)
        (change,) = take(watch, 1)
        assert change.value == b"right"
        assert watch.take(0.3) is None


def test_a_table_writes_where_java_producers_write(make_topic: MakeTopic, tables: Tables) -> None:
    topic = make_topic(partitions=3)
    table = tables.open(topic.name, **RAW)
    outcomes = table.put_many(dict.fromkeys(KEYS, b"1"))
    assert [o.version.partition for o in outcomes if o.version] == [
        Keyspace(3).partition_of(key) for key in KEYS
    ]
    assert {o.version.partition for o in outcomes if o.version} == {0, 1, 2}
