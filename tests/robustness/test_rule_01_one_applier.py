"""Rule 1: only the tailing thread writes a store; a writer waits for its own offset."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from lastword.rows import offset_of
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.stores import GatedStore, RecordingStore
from tests.support.local_tables.tables import Tables


def test_writes_from_many_threads_reach_the_store_through_one(
    topic: RealTopic, tables: Tables
) -> None:
    store = RecordingStore()
    table = tables.open(topic.name, store=store, **RAW)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: table.put(b"key-%d" % (n % 10), b"%d" % n), range(100)))
    assert store.threads == {f"tailer-{topic.name}"}
    assert dict(table.items()) == topic.fold()


def test_every_row_in_the_store_is_a_record_of_the_log(topic: RealTopic, tables: Tables) -> None:
    store = RecordingStore()
    table = tables.open(topic.name, store=store, **RAW)
    table.put_many([(b"key-%d" % n, b"value") for n in range(50)])
    log = {record.offset: record.key for record in topic.log()}
    rows = [(key, offset_of(row)) for puts, _, _ in store.applied for key, row in puts.items()]
    assert len(rows) == 50
    assert all(log[offset] == key for key, offset in rows)


def test_a_put_returns_only_when_it_can_be_read(topic: RealTopic, tables: Tables) -> None:
    store = GatedStore()
    store.gate.set()
    table = tables.open(topic.name, store=store, **RAW)
    store.gate.clear()
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(table.put, b"key", b"value")
        wait_until(lambda: topic.keys() == [b"key"], "the record is in the log")
        assert store.waiting.wait(180)
        assert not writing.done()
        assert table.get(b"key") is None
        store.gate.set()
        version = writing.result(180)
    assert table.get(b"key") == b"value"
    assert version == (0, 0)
