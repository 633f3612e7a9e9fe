"""Rule 3: a restore ends at the high watermark of its start, for any tail of the log."""

from __future__ import annotations

import threading

import pytest

from lastword.errors import NotReadyError
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables


def test_a_committed_transactions_marker_at_the_tail_does_not_hold_up_the_restore(
    topic: RealTopic, tables: Tables
) -> None:
    topic.begin_transaction((b"a", b"1"), (b"b", b"2"), name=topic.name).commit_transaction(30)
    wait_until(lambda: topic.end() == 3, "the marker, which may follow the answer")
    table = tables.open(topic.name, **RAW)
    assert dict(table.items()) == {b"a": b"1", b"b": b"2"}
    assert table.position().offsets == {0: 3}


def test_an_aborted_transaction_at_the_tail_does_not_hold_up_the_restore(
    topic: RealTopic, tables: Tables
) -> None:
    topic.produce((b"a", b"1"))
    topic.begin_transaction((b"a", b"x"), (b"b", b"x"), name=topic.name).abort_transaction(30)
    wait_until(lambda: topic.end() == 4, "the marker, which may follow the answer")
    table = tables.open(topic.name, **RAW)
    assert dict(table.items()) == {b"a": b"1"}
    assert table.position().offsets == {0: 4}


def test_a_log_of_nothing_but_an_aborted_transaction_is_an_empty_table(
    topic: RealTopic, tables: Tables
) -> None:
    topic.begin_transaction((b"a", b"x"), name=topic.name).abort_transaction(30)
    assert len(tables.open(topic.name, **RAW)) == 0


def test_a_transaction_that_aborts_under_a_live_table_moves_it_past_the_marker(
    topic: RealTopic, tables: Tables
) -> None:
    table = tables.open(topic.name, **RAW)
    topic.begin_transaction((b"a", b"x"), name=topic.name).abort_transaction(30)
    wait_until(lambda: table.position().offsets == {0: 2}, "the position behind the marker")
    table.put(b"b", b"1")
    assert dict(table.items()) == {b"b": b"1"}


def test_an_acknowledged_transaction_is_in_the_table_that_is_opened_next(
    topic: RealTopic, tables: Tables
) -> None:
    # The marker is often written after the commit was answered: an end taken as the last stable
    # offset would miss the record.
    producer = topic.begin_transaction((b"a", b"0"), name=topic.name)
    for n in range(5):
        if n:
            producer.begin_transaction()
            producer.produce(topic.name, b"%d" % n, b"a")
        producer.commit_transaction(30)
        table = tables.open(topic.name, name=f"opened-{n}", **RAW)
        assert table[b"a"] == b"%d" % n


def test_an_open_transaction_is_named_and_the_table_is_ready_once_it_ends(
    topic: RealTopic, tables: Tables
) -> None:
    topic.produce((b"before", b"1"))
    # As a killed writer leaves it: open, until the broker gives up on it.
    killed = topic.begin_transaction((b"lost", b"x"), name="killed-writer", timeout_ms=8_000)
    topic.produce((b"after", b"2"))
    table = tables.make(topic.name, **RAW)
    table.start()
    wait_until(lambda: [each.position for each in table.progress()] == [1], "the first record")
    with pytest.raises(NotReadyError, match="blocked by transaction 'killed-writer'") as stalled:
        table.wait_ready(stall_timeout_s=1)
    assert "partition 0 is at 1 of 3" in str(stalled.value)
    assert stalled.value.hint is not None
    with pytest.raises(NotReadyError):
        table.get(b"before")
    assert table.query.get(b"before", allow_stale=True).stale
    table.wait_ready(stall_timeout_s=180)
    assert dict(table.items()) == {b"before": b"1", b"after": b"2"}
    del killed


def test_partitions_without_any_record_are_ready_at_once(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(partitions=3)
    table = tables.open(topic.name, **RAW)
    assert len(table) == 0
    table.put(b"a", b"1")
    assert dict(table.items()) == {b"a": b"1"}


def test_a_partition_whose_records_have_all_expired_is_ready_at_once(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings={"cleanup.policy": "compact,delete"})
    topic.produce((b"a", b"1"), (b"b", b"2"))
    topic.delete_records_before(2)
    table = tables.open(topic.name, allow_expiry=True, **RAW)
    assert len(table) == 0
    assert table.position().offsets == {0: 2}


def test_a_writer_that_never_pauses_does_not_keep_a_table_from_getting_ready(
    topic: RealTopic, tables: Tables, trickling: None
) -> None:
    for n in range(20):
        topic.produce((b"key-%d" % n, b"0"))
    store = GatedStore()
    table = tables.make(topic.name, store=store, **RAW)
    table.start()
    assert store.waiting.wait(180)
    looks = table._lifecycle.parts.replicas._following.inbox
    stop = threading.Event()

    def write_on() -> None:
        while not stop.is_set():
            topic.produce(*((b"key-%d" % n, b"1") for n in range(100)))

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        wait_until(lambda: topic.end() > 20 and len(looks) > 1, "looks at a log that grows")
        store.gate.set()
        wait_until(lambda: table.state is TableState.RUNNING, "ready while others write")
        assert table.progress()[0].end == 20
    finally:
        store.gate.set()
        stop.set()
        writer.join(180)


def test_nothing_is_served_before_the_end_is_reached(topic: RealTopic, tables: Tables) -> None:
    topic.produce((b"a", b"1"))
    store = GatedStore()
    table = tables.make(topic.name, store=store, **RAW)
    table.start()
    try:
        assert store.waiting.wait(180)
        assert table.state is TableState.RESTORING
        for read in (lambda: table.get(b"a"), lambda: len(table), table.items):
            with pytest.raises(NotReadyError, match="is being restored"):
                read()
    finally:
        store.gate.set()
    table.wait_ready()
    assert table[b"a"] == b"1"
