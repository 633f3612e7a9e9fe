"""Rule 12: every queue, retry and wait has a limit, and what takes seconds shows progress."""

from __future__ import annotations

import threading

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import (
    NotReadyError,
    NotUpToPositionError,
    WatchLostError,
)
from lastword.kafka.connection import Connection
from lastword.kafka.log.source import PositionLost
from lastword.records import Position
from lastword.replicas.watch import feed
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take


def test_a_slow_watcher_gets_an_error_and_can_resume_without_a_gap(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "RECORDS_MAX", 50)
    table = tables.open(topic.name, **RAW)
    slow, seen = table.watch(), list[bytes]()
    for n in range(0, 200, 10):
        table.put_many([(b"key-%d" % i, b"%d" % i) for i in range(n, n + 10)])
    with pytest.raises(WatchLostError, match="more than 50 changes behind"):
        while len(seen) < 200:
            seen.append(take(slow, 1)[0].key)
    assert 0 < len(seen) <= 50
    with table.watch(slow.position) as again:
        seen += [change.key for change in take(again, 200 - len(seen))]
    assert seen == [b"key-%d" % n for n in range(200)]


def test_a_watcher_that_joins_while_the_table_loses_its_place_is_refused(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables.open(topic.name, **RAW)
    replicas = table._lifecycle.parts.replicas
    subscribe = replicas.subscribe

    def lose_place_and_subscribe() -> feed.Subscription:
        replicas._following.reaction.position_lost(PositionLost(0, "overtaken"))
        return subscribe()

    monkeypatch.setattr(replicas, "subscribe", lose_place_and_subscribe)
    with pytest.raises(NotReadyError):
        table.watch()
    assert len(replicas.feed) == 0


def test_waiting_for_a_position_ends(topic: RealTopic, tables: Tables) -> None:
    table = tables.open(topic.name, **RAW)
    with pytest.raises(NotUpToPositionError, match="not yet at 0:99"):
        table.query.get(b"key", at_least=Position({0: 99}), timeout_s=0.2)


def test_waiting_for_a_position_ends_when_the_table_fails(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(partitions=2)
    table = tables.open(topic.name, **RAW)
    failed = threading.Event()

    def wait() -> None:
        with pytest.raises(NotUpToPositionError):
            table.query.get(b"key", at_least=Position({0: 99}), timeout_s=60)
        failed.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    topic.add_partitions(3)
    assert failed.wait(180)


def test_waiting_for_a_stalled_restore_ends_with_its_position(
    topic: RealTopic, tables: Tables
) -> None:
    topic.produce(*((b"key-%d" % n, b"1") for n in range(5)))
    store = GatedStore()
    table = tables.make(topic.name, store=store, **RAW)
    table.start()
    try:
        assert store.waiting.wait(180)
        with pytest.raises(NotReadyError, match="has not moved for 1 s"):
            table.wait_ready(stall_timeout_s=1)
    finally:
        store.gate.set()
    table.wait_ready()


def test_closing_ends_while_a_sweep_waits_for_a_silent_broker(
    own_broker: EmbeddedBroker, topic_name: str, tables: Tables
) -> None:
    connection = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    topic = RealTopic(connection, topic_name).create(settings={"delete.retention.ms": "0"})
    topic.produce((b"key", b"1"))
    store = GatedStore()
    table = tables.make(topic.name, connection=connection, store=store, **RAW)
    table.start()
    assert store.waiting.wait(180)
    sweeping = table._lifecycle.parts.replicas._following.sweeps
    own_broker.pause()
    try:
        store.gate.set()
        wait_until(lambda: sweeping.first_pending, "a sweep that cannot read the log")
        closing = threading.Thread(target=table.close, daemon=True)
        closing.start()
        closing.join(180)
        assert not closing.is_alive()
    finally:
        own_broker.resume()
        store.gate.set()


class Heard:
    """A restore listener that records its calls."""

    def __init__(self) -> None:
        self.started: dict[int, tuple[int, int]] = {}
        self.records: dict[int, int] = {}
        self.ended: dict[int, int] = {}

    def on_start(self, _topic: str, partition: int, start: int, end: int) -> None:
        self.started[partition] = (start, end)

    def on_batch(self, _topic: str, partition: int, _position: int, records: int) -> None:
        self.records[partition] = self.records.get(partition, 0) + records

    def on_end(self, _topic: str, partition: int, records: int) -> None:
        self.ended[partition] = records


@pytest.mark.parametrize("store", ["memory", "rocksdb"])
def test_a_restore_shows_its_progress(make_topic: MakeTopic, tables: Tables, store: str) -> None:
    topic = make_topic(partitions=2)
    topic.produce(*((b"key-%d" % n, b"1") for n in range(1000)))
    heard = Heard()
    table = tables.open(topic.name, store=store, restore_listener=heard, **RAW)
    ends = {partition: topic.end(partition) for partition in range(2)}
    assert heard.started == {partition: (0, end) for partition, end in ends.items()}
    assert heard.records == heard.ended == ends
    assert {p.partition: p.position for p in table.progress()} == ends
    assert all(progress.done for progress in table.progress())
