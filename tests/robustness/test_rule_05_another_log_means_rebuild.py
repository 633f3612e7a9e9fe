"""Rule 5: a log that is not the one the store was built from means rebuild, never a mixture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import SnapshotError, WatchLostError
from lastword.kafka.connection import Connection
from lastword.records import Position
from lastword.snapshots.catalog.location import Location
from lastword.table.table import Table
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take
from tests.support.on_spark.snapshots import keep_history_without_spark, take_without_spark

KEPT = {"store": "rocksdb", **RAW}


def agrees(table: Table, topic: RealTopic) -> bool:
    """Whether a ready table equals the state of the whole log."""
    return table.state is TableState.RUNNING and dict(table.items()) == topic.fold()


def rebuilds(table: Table) -> int:
    return table.metrics.counter("rebuilds_total").value


def recreate(topic: RealTopic, records: int) -> None:
    """Delete the topic and make another of the same name, with this many records."""
    topic.delete()
    topic.create()
    topic.produce(*((b"new-%d" % n, b"2") for n in range(records)))


def test_a_topic_recreated_longer_than_the_checkpoint_while_the_table_was_away(
    topic: RealTopic, tables: Tables
) -> None:
    with tables.make(topic.name, **KEPT) as table:
        table.put_many({b"old-%d" % n: b"1" for n in range(5)})
    recreate(topic, records=8)
    table = tables.open(topic.name, **KEPT)
    assert table.progress()[0].start == 0
    assert dict(table.items()) == {b"new-%d" % n: b"2" for n in range(8)}


@pytest.mark.parametrize("records", [2, 5, 8], ids=["shorter", "as-long", "longer"])
def test_a_topic_recreated_under_a_live_table(
    topic: RealTopic, tables: Tables, records: int
) -> None:
    table = tables.open(topic.name, **RAW)
    table.put_many({b"old-%d" % n: b"1" for n in range(5)})
    watch = table.watch()
    recreate(topic, records)
    wait_until(lambda: rebuilds(table) == 2, "the table begins again")
    table.wait_ready()
    assert dict(table.items()) == {b"new-%d" % n: b"2" for n in range(records)}
    with pytest.raises(WatchLostError):
        take(watch, 100)
    table.put(b"after", b"3")
    assert agrees(table, topic)


def test_a_store_of_another_cluster_is_rebuilt(
    own_broker: EmbeddedBroker, topic: RealTopic, tables: Tables
) -> None:
    elsewhere = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    RealTopic(elsewhere, topic.name).create()
    with tables.make(topic.name, **KEPT | {"connection": elsewhere}) as table:
        table.put_many({b"elsewhere-%d" % n: b"1" for n in range(5)})
    topic.produce(*((b"here-%d" % n, b"2") for n in range(8)))
    table = tables.open(topic.name, **KEPT)
    assert table.progress()[0].start == 0
    assert dict(table.items()) == topic.fold()


def test_a_log_that_starts_after_the_checkpoint_is_read_from_its_start(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings={"cleanup.policy": "compact,delete"})
    with tables.make(topic.name, allow_expiry=True, **KEPT) as table:
        table.put_many({b"old-%d" % n: b"1" for n in range(3)})
    topic.produce(*((b"unseen-%d" % n, b"2") for n in range(5)))
    topic.delete_records_before(5)
    table = tables.open(topic.name, allow_expiry=True, **KEPT)
    assert table.progress()[0].start == 5
    assert dict(table.items()) == {b"unseen-%d" % n: b"2" for n in range(2, 5)}


def test_a_lagging_live_table_that_the_start_of_the_log_overtakes_is_rebuilt(
    make_topic: MakeTopic, tables: Tables, trickling: None
) -> None:
    topic = make_topic(settings={"cleanup.policy": "compact,delete"})
    store = GatedStore()
    store.gate.set()
    table = tables.open(topic.name, store=store, allow_expiry=True, **RAW)
    table.put(b"old", b"1")
    store.gate.clear()
    for n in range(20):
        topic.produce((b"unseen-%d" % n, b"2"))
    assert store.waiting.wait(180)
    topic.delete_records_before(19)
    store.gate.set()
    wait_until(lambda: rebuilds(table) == 2, "the table begins again")
    wait_until(lambda: agrees(table, topic), "the table is what the log comes to")
    assert list(table) == [b"unseen-18", b"unseen-19"]


class CutLog:
    """A topic on a broker of one's own, whose log can lose its tail as in an unclean election."""

    def __init__(self, broker: EmbeddedBroker, name: str) -> None:
        self.broker = broker
        self.connection = Connection(bootstrap_servers=broker.bootstrap_servers)
        self.topic = RealTopic(self.connection, name).create()
        self._segment = Path(broker.nodes[0].info.data_dir, f"{name}-0", "0".zfill(20) + ".log")

    def size(self) -> int:
        return self._segment.stat().st_size

    def cut(self, size: int) -> None:
        """Crash the broker, cut the log there, and start the broker again."""
        self.broker.kill()
        with self._segment.open("r+b") as segment:
            segment.truncate(size)
        for index in self._segment.parent.glob("*.*index"):
            index.unlink()
        self.broker.start()


def test_a_log_that_lost_its_tail_and_grew_again_is_noticed_by_its_leader_epoch(
    own_broker: EmbeddedBroker, topic_name: str, tables: Tables
) -> None:
    log = CutLog(own_broker, topic_name)
    closed = KEPT | {"connection": log.connection}
    live = tables.open(topic_name, name="live", connection=log.connection, **RAW)
    live.put_many({b"kept-%d" % n: b"1" for n in range(5)})
    size = log.size()
    live.put_many({b"lost-%d" % n: b"1" for n in range(5)})
    with tables.make(topic_name, **closed) as table:
        assert len(table) == 10
    log.cut(size)
    log.topic.produce(*((b"new-%d" % n, b"2") for n in range(8)))
    # The checkpoint 10 lies within 0 and 13 again, but not in the history of this log.
    assert log.topic.end() == 13
    table = tables.open(topic_name, **closed)
    assert agrees(table, log.topic)
    wait_until(lambda: agrees(live, log.topic), "the live table is rebuilt too")
    assert b"lost-0" not in live
    assert b"kept-0" in live


def test_snapshots_and_history_of_a_log_that_lost_its_tail_are_not_used_for_the_one_that_grew_again(
    own_broker: EmbeddedBroker, topic_name: str, tables: Tables, tmp_path: Path
) -> None:
    log = CutLog(own_broker, topic_name)
    location = Location(str(tmp_path / "snapshots"), topic_name)
    log.topic.produce(*((b"kept-%d" % n, b"1") for n in range(5)))
    take_without_spark(log.connection, location)
    size = log.size()
    log.topic.produce(*((b"lost-%d" % n, b"1") for n in range(5)))
    take_without_spark(log.connection, location, number=1)
    keep_history_without_spark(log.connection, location)
    log.cut(size)
    log.topic.produce(*((b"new-%d" % n, b"2") for n in range(8)))
    given: dict[str, Any] = {"connection": log.connection, "snapshots": location.root} | RAW
    table = tables.open(topic_name, **given)
    assert agrees(table, log.topic)
    # The offset 10 was the end of the lost log, and lies in the middle of this one.
    past = dict(table.as_of(Position({0: 10})).items())
    assert past == {b"kept-%d" % n: b"1" for n in range(5)} | {
        b"new-%d" % n: b"2" for n in range(5)
    }
    with pytest.raises(SnapshotError, match="has lost its tail"):
        keep_history_without_spark(log.connection, location)
