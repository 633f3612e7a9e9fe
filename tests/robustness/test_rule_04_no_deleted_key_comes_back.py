"""Rule 4: a store that may have missed a tombstone is swept before it is trusted."""

from __future__ import annotations

import random

import pytest

from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import (
    EAGER_COMPACTION,
    FILLER,
    RAW,
    MakeTopic,
    RealTopic,
)
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables, wait_until_trusted
from tests.support.local_tables.watching import take, take_delete
from tests.support.shifted_clock import ShiftedClock

SHORT = EAGER_COMPACTION | {"delete.retention.ms": "100"}


def swept_keys(table: Table) -> int:
    return table.metrics.counter("swept_keys_total").value


def agree(table: Table, topic: RealTopic) -> bool:
    """Whether the table equals the state of the log."""
    return dict(table.items()) == topic.fold()


def test_a_tombstone_that_expired_while_the_table_was_away_still_deletes(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings=SHORT)
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        table.put_many({b"kept": b"1", b"deleted": b"2", b"written-again": b"3"})
    topic.produce((b"deleted", None), (b"written-again", None))
    topic.compact_away(b"deleted")
    topic.produce((b"written-again", b"4"))
    # Nothing in the log says any more that the key was deleted, and the checkpoint is in range.
    table = tables.open(topic.name, store="rocksdb", **RAW)
    assert b"deleted" not in table
    assert table[b"written-again"] == b"4"
    assert agree(table, topic)
    assert table.progress()[0].start > 0
    assert swept_keys(table) >= 1


def test_a_table_that_was_away_for_less_than_the_retention_is_not_swept(
    topic: RealTopic, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        table.put(b"key", b"1")
    topic.produce((b"key", None))
    with caplog.at_level("INFO", logger="lastword"):
        table = tables.open(topic.name, store="rocksdb", **RAW)
    assert b"key" not in table
    assert not table.query.count().stale
    assert "swept partition" not in caplog.text


def test_a_first_restore_slower_than_the_retention_is_swept_before_it_serves(
    make_topic: MakeTopic, tables: Tables, trickling: None
) -> None:
    topic = make_topic(settings=SHORT)
    topic.produce((b"deleted", b"1"))
    for n in range(10):
        topic.produce((b"key-%d" % n, b"1"))
    store = GatedStore()
    table = tables.make(topic.name, store=store, **RAW)
    table.start()
    try:
        assert store.waiting.wait(180)
        topic.produce((b"deleted", None))
        topic.compact_away(b"deleted")
    finally:
        store.gate.set()
    table.wait_ready()
    puts, _, _ = store.applied[0]
    assert b"deleted" in puts
    assert all(b"deleted" not in deletes for _, deletes, _ in store.applied[:-1])
    assert b"deleted" not in table
    assert swept_keys(table) == 1
    wait_until(lambda: agree(table, topic), "the table is what the log comes to")


def test_a_table_on_a_retention_of_100_ms_gets_ready_and_stays_right(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings=SHORT)
    chance = random.Random(4)

    def churn() -> None:
        keys = [b"key-%d" % chance.randrange(20) for _ in range(30)]
        topic.produce(*((key, chance.choice([b"1", b"2", None])) for key in keys))

    churn()
    table = tables.open(topic.name, **RAW)
    assert agree(table, topic)
    first = topic.log()[0].offset
    for _ in range(3):
        churn()
        topic.produce((b"last", b"%d" % topic.end()))
        assert agree_soon(table, topic)
    topic.compact_until(lambda log: log[0].offset > first, "something is compacted")
    assert agree_soon(table, topic)
    with tables.make(topic.name, name="restarted", **RAW) as restarted:
        assert agree(restarted, topic)


def agree_soon(table: Table, topic: RealTopic) -> bool:
    wait_until(lambda: table.position().offsets[0] >= topic.end(), "the table has caught up")
    return agree(table, topic)


def test_sweeps_are_a_minute_apart_and_reads_are_marked_stale_until_one_is_done(
    make_topic: MakeTopic, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="lastword.replicas")
    topic = make_topic(settings={"delete.retention.ms": "100"})
    clock = ShiftedClock()
    table = tables.open(topic.name, clock=clock, **RAW)
    replicas = table._lifecycle.parts.replicas

    def sweeps() -> int:
        return caplog.text.count("swept partition")

    def look_twice() -> None:
        seen = replicas.topic_state.at_ms
        for _ in range(2):
            seen = wait_until(
                lambda past=seen: replicas.topic_state.at_ms > past and replicas.topic_state.at_ms,
                "a look",
            )

    wait_until(lambda: sweeps() == 1, "the first sweep")
    clock.shift_s += 30  # an absence that this retention does not cover
    wait_until(lambda: table.query.count().stale, "stale after an absence")
    look_twice()
    assert (sweeps(), table.query.count().stale) == (1, True)
    clock.shift_s += 31
    wait_until(lambda: sweeps() == 2, "the second sweep, a minute after the first")
    wait_until(lambda: not table.query.count().stale, "trusted: it dropped nothing")


def test_a_live_table_that_fell_behind_a_tombstone_is_swept_and_its_watchers_get_the_delete(
    make_topic: MakeTopic, tables: Tables, trickling: None
) -> None:
    topic = make_topic(settings=SHORT)
    store, clock = GatedStore(), ShiftedClock()
    store.gate.set()
    table = tables.open(topic.name, store=store, clock=clock, **RAW)
    table.put_many({b"kept": b"1", b"deleted": b"2"})
    with table.watch() as watch:
        store.gate.clear()
        for n in range(10):
            topic.produce((b"kept", b"%d" % n))
        assert store.waiting.wait(180)
        topic.produce((b"deleted", None))
        topic.compact_away(b"deleted")
        clock.shift_s = 60  # the live table has not been at the end of its log for a minute
        store.gate.set()
        gone = take_delete(watch)
    assert (gone.key, gone.value, gone.version) == (b"deleted", None, None)
    assert b"deleted" not in table
    wait_until_trusted(table)
    wait_until(lambda: agree(table, topic), "the table is what the log comes to")


def test_a_table_follows_the_start_of_a_compact_delete_topic(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings={"cleanup.policy": "compact,delete"})
    table = tables.open(topic.name, store="rocksdb", allow_expiry=True, **RAW)
    table.put_many({b"old": b"1", b"rewritten": b"2"})
    table.put_many({b"rewritten": b"3", b"new": b"4"})
    with table.watch() as watch:
        topic.delete_records_before(2)
        (change,) = take(watch, 1)
    assert (change.key, change.deleted, change.version) == (b"old", True, None)
    assert dict(table.items()) == {b"rewritten": b"3", b"new": b"4"} == topic.fold()
    table.close()
    restarted = tables.open(topic.name, store="rocksdb", allow_expiry=True, **RAW)
    assert dict(restarted.items()) == topic.fold()


def test_rows_that_expired_while_the_table_was_away_are_gone_when_it_is_back(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings={"cleanup.policy": "compact,delete"})
    with tables.make(topic.name, store="rocksdb", allow_expiry=True, **RAW) as table:
        table.put_many({b"old": b"1", b"new": b"2"})
    topic.delete_records_before(1)
    table = tables.open(topic.name, store="rocksdb", allow_expiry=True, **RAW)
    assert table.progress()[0].start == 2
    assert dict(table.items()) == {b"new": b"2"} == topic.fold()


def test_a_sweep_keeps_the_last_good_row_of_a_key_whose_newest_record_is_bad(
    make_topic: MakeTopic, tables: Tables
) -> None:
    options = {"store": "rocksdb", "key": "bytes", "value": "json", "on_bad": "quarantine"}
    topic = make_topic(settings=SHORT)
    with tables.make(topic.name, **options) as table:
        table.put(b"poisoned", 1)
        topic.produce((b"poisoned", b"{not json"))
        wait_until(table.quarantined, "the bad record is listed")
    topic.compact_until(
        lambda log: [r.offset for r in log if r.key == b"poisoned"] == [1],
        "only the bad record is left in the log",
    )
    table = tables.open(topic.name, **options)
    assert table.get(b"poisoned") == 1
    assert [bad.offset for bad in table.quarantined()] == [1]
    assert FILLER in table
