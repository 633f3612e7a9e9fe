"""A table that keeps versions answers for past moments of a key: exactly, or not at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError, MomentGoneError, NotReadyError
from lastword.kafka.connection import Connection
from lastword.records import Position, Version
from lastword.snapshots.catalog.location import Location
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.random_writes import write_at_random
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.on_spark.snapshots import take_without_spark


def test_a_past_value_is_found_by_version_position_and_time(
    topic: str, tables: Tables, store: str
) -> None:
    table = tables.open(topic, store=store, versions=3)
    before = table.position()
    first, second = table.put("a", 1), table.put("a", 2)
    between_ms = SYSTEM_CLOCK.now_ms()
    wait_until(lambda: SYSTEM_CLOCK.now_ms() > between_ms, "the next millisecond")
    deleted = table.delete("a")
    assert (table.get("a", at=before), table.get("a", at=first), table.get("a", at=second)) == (
        None,
        1,
        2,
    )
    assert table.get("a", at=between_ms) == 2
    assert table.get("a", "absent", at=deleted) == "absent" == table.get("a", "absent")
    assert [(each.value, each.version) for each in table.versions("a")] == [
        (1, first),
        (2, second),
        (None, deleted),
    ]
    entry = table.entry("a", at=second)
    assert entry is not None and (entry.value, entry.version) == (2, second)

    table.put("a", 4)  # one more than three: the oldest goes
    with pytest.raises(MomentGoneError, match=f"{first.partition}:{second.offset + 1}"):
        table.get("a", at=first)
    assert (table.get("a", at=second), table.get("a", at=deleted), table["a"]) == (2, None, 4)
    assert (len(table), dict(table.items())) == (1, {"a": 4})


def test_versions_survive_a_restart_and_no_later_one_is_kept_than_asked_for(
    topic: str, tables: Tables
) -> None:
    table = tables.open(topic, store="rocksdb", versions="1h")
    versions = [table.put("a", n) for n in range(5)]
    table.close()
    again = tables.open(topic, store="rocksdb", versions="1h")
    assert [again.get("a", at=version) for version in versions] == list(range(5))
    again.close()
    plain = tables.open(topic, store="rocksdb")  # another layout: rebuilt from the log
    assert (plain["a"], len(plain)) == (4, 1)
    plain.close()
    rebuilt = tables.open(topic, store="rocksdb", versions=2)
    assert [change.value for change in rebuilt.versions("a")] == [3, 4]


def test_random_moments_under_hard_compaction_are_exact_or_refused(
    connection: Connection, topic_name: str, tables: Tables, store: str
) -> None:
    """Closed and opened again in between, while the cleaner has run."""
    topic = RealTopic(connection, topic_name).create(partitions=2, settings=EAGER_COMPACTION)
    dice, state = random.Random(7), dict[bytes, bytes]()
    noted: list[tuple[int, Position, dict[bytes, bytes]]] = []
    keys = [b"key-%d" % n for n in range(8)]
    answered = refused = 0
    for _ in range(2):
        table = tables.open(topic_name, **RAW, store=store, versions=20)
        for _ in range(12):
            write_at_random(table, keys, dice, state, times=4)
            now_ms = SYSTEM_CLOCK.now_ms()
            noted.append((now_ms, table.position(), dict(state)))
            wait_until(lambda at=now_ms: SYSTEM_CLOCK.now_ms() > at + 20, "the next moment")
        for at_ms, position, expected in noted:
            for moment in (position, at_ms):
                for key in keys:
                    try:
                        found = table.get(key, at=moment)
                    except MomentGoneError as error:
                        assert "the earliest known one is" in str(error)
                        refused += 1
                        continue
                    assert found == expected.get(key), (moment, key)
                    answered += 1
        table.close()
        topic.produce(*((key, b"meanwhile") for key in keys for _ in range(2)))
        state = dict.fromkeys(keys, b"meanwhile")
        half = (topic.end(0) + topic.end(1)) // 2
        topic.compact_until(lambda log, half=half: len(log) < half, "a cleaned log")
    assert answered > 100 and refused


@pytest.mark.parametrize("lag_ms", ["3600000", "0"])
def test_markers_of_transactions_cost_no_past_where_the_log_is_protected(
    connection: Connection, topic_name: str, tables: Tables, lag_ms: str
) -> None:
    """Without the protection a marker is a gap like any other, and what was before is not known."""
    topic = RealTopic(connection, topic_name).create(settings={"min.compaction.lag.ms": lag_ms})
    table = tables.open(topic_name, **RAW, versions=5)
    first = table.put(b"a", b"1")
    topic.begin_transaction((b"a", b"2"), name=topic_name).commit_transaction()
    wait_until(lambda: table.get(b"a") == b"2", "the transaction")
    last = table.put(b"a", b"3")
    wait_until(lambda: _is_known(table, last), "the end of the log is asked for")
    assert table.get(b"a", at=last) == b"3"
    if lag_ms == "0":
        with pytest.raises(MomentGoneError):
            table.get(b"a", at=first)
    else:
        assert [table.get(b"a", at=Version(0, at)) for at in range(2)] == [b"1", b"2"]


def _is_known(table: Table, version: Version) -> bool:
    try:
        table.get(b"a", at=version)
    except (MomentGoneError, NotReadyError):
        return False
    return True


def test_moments_before_the_snapshot_a_table_started_from_are_refused(
    connection: Connection, topic_name: str, tables: Tables, tmp_path: Path, store: str
) -> None:
    topic = RealTopic(connection, topic_name).create()
    topic.produce((b"a", b"1"), (b"a", b"2"), (b"b", b"1"), (b"b", None))
    location = Location(str(tmp_path / "snapshots"), topic_name)
    note = take_without_spark(connection, location)
    topic.produce((b"a", b"3"), (b"b", b"3"))
    table = tables.open(topic_name, **RAW, store=store, versions=5, snapshots=location.root)
    assert [progress.start for progress in table.progress()] == [4]
    for moment in (Version(0, 0), Position({0: 3}), note.captured_at_ms - 1):
        with pytest.raises(MomentGoneError, match="the position 0:4"):
            table.get(b"a", at=moment)
    for moment in (Position({0: 4}), note.captured_at_ms):
        assert (table.get(b"a", at=moment), table.get(b"b", at=moment)) == (b"2", None)
    assert (table.get(b"a", at=Version(0, 5)), table.get(b"b", at=Version(0, 5))) == (b"3", b"3")


def test_a_past_read_that_cannot_be_answered_is_refused(topic: str, tables: Tables) -> None:
    plain = tables.open(topic)
    version = plain.put("a", 1)
    with pytest.raises(ConfigError, match="keeps no versions"):
        plain.get("a", at=version)
    table = tables.open(topic, versions=2, name="versioned")
    other = (version.partition + 1) % 3
    for never, reason in (
        (Position({other: 0}), "does not name"),
        (SYSTEM_CLOCK.now_ms() + 60_000, "in the future"),
    ):
        with pytest.raises(ConfigError, match=reason):
            table.get("a", at=never)
    for wrong in (0, 1001, "a week"):
        with pytest.raises(ConfigError):
            tables.make(topic, versions=wrong)
    with pytest.raises(ConfigError, match="evicts"):
        tables.open(topic, versions=2, store="lru:10", name="small")
