"""A time to live survives restarts, restores, snapshots and time travel."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.records import EXPIRES_HEADER
from lastword.snapshots.catalog.location import Location
from lastword.table.writing.conditions import TOMBSTONE
from lastword.testing import wait_until
from tests.support.local_tables.tables import Tables, read_raw
from tests.support.on_spark.snapshots import keep_history_without_spark, take_without_spark
from tests.support.shifted_clock import ShiftedClock

HOUR_MS = 3_600_000
HOUR_S = 3_600.0


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def location(topic: str, tmp_path: Path) -> Location:
    return Location(str(tmp_path / "snapshots"), topic)


def test_a_value_expires_in_every_store_and_stays_expired_after_a_restart(
    topic: str, tables: Tables, clock: ShiftedClock, store: str
) -> None:
    table = tables.open(topic, store=store, clock=clock)
    before_ms = clock.now_ms()
    table.put("session", {"user": 1}, ttl="1h")
    table.put("lasting", 1)
    entry = table.entry("session")
    assert entry is not None and entry.expires_at_ms is not None
    assert before_ms + HOUR_MS <= entry.expires_at_ms <= clock.now_ms() + HOUR_MS
    table.close()

    again = tables.open(topic, store=store, clock=clock)
    assert again.entry("session") == entry
    clock.shift_s += HOUR_S + 60
    assert (again.get("session"), "session" in again, list(again)) == (None, False, ["lasting"])
    with pytest.raises(KeyError):
        again["session"]
    again.close()

    last = tables.open(topic, store=store, clock=clock)
    assert last.get_many(["session", "lasting"]) == {"lasting": 1}
    assert list(last.prefix("ses")) == []


def test_the_clock_of_the_table_stamps_what_is_written_and_deletes_have_no_expiry(
    topic: str, tables: Tables, connection: Connection, clock: ShiftedClock
) -> None:
    clock.shift_s = 10 * HOUR_S
    table = tables.open(topic, clock=clock, ttl="30m")
    before_ms = clock.now_ms()
    table.put("default", 1)
    table.put_many({"many": 1, "gone": TOMBSTONE}, ttl="1h")
    table.delete("deleted")
    log = {record.key: dict(record.headers) for record in read_raw(connection, topic)}
    assert log[b"gone"] == log[b"deleted"] == {}
    for key, ttl_ms in ((b"default", HOUR_MS // 2), (b"many", HOUR_MS)):
        expires_at_ms = int(log[key][EXPIRES_HEADER] or b"")
        assert before_ms + ttl_ms <= expires_at_ms <= clock.now_ms() + ttl_ms


def test_an_invalid_time_to_live_is_refused(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    for ttl in ("0s", "soon", -1):
        with pytest.raises(ConfigError):
            table.put("key", 1, ttl=ttl)
        with pytest.raises(ConfigError):
            tables.make(topic, ttl=ttl)
    assert len(table) == 0


def test_a_table_that_starts_from_a_snapshot_knows_what_expires(
    connection: Connection, location: Location, tables: Tables, clock: ShiftedClock
) -> None:
    topic = location.topic
    writer = tables.open(topic, name="writer")
    writer.put("session", 1, ttl="1h")
    writer.put("lasting", 2, headers=(("by", b"me"),))
    written = list(writer.query.scan())
    take_without_spark(connection, location)
    table = tables.open(topic, name="reader", snapshots=location.root, clock=clock)
    assert [each.start for each in table.progress()] == list(table.position().offsets.values())
    assert list(table.query.scan()) == written
    clock.shift_s = 2 * HOUR_S
    assert dict(table.items()) == {"lasting": 2}


@pytest.mark.parametrize("by", ["log", "snapshot", "history"])
def test_time_travel_asks_what_was_due_at_that_time(
    connection: Connection, location: Location, tables: Tables, clock: ShiftedClock, by: str
) -> None:
    topic = location.topic
    table = tables.open(topic, snapshots=location.root, clock=clock)
    version = table.put("session", 1, ttl="1h")
    table.put("lasting", 2)
    written_ms = clock.now_ms()
    if by == "snapshot":
        take_without_spark(connection, location)
    if by == "history":
        keep_history_without_spark(connection, location)
    clock.shift_s = 3 * HOUR_S
    assert dict(table.as_of(written_ms).items()) == {"session": 1, "lasting": 2}
    later = table.as_of(written_ms + 2 * HOUR_MS)
    assert (dict(later.items()), len(later), later.get("session")) == ({"lasting": 2}, 1, None)
    assert table.as_of(version).get("session") == 1  # offsets have no time


def test_the_owner_deletes_a_key_whose_time_is_over_and_every_copy_agrees(
    topic: str, tables: Tables, connection: Connection, clock: ShiftedClock
) -> None:
    owned = tables.open(topic, writes="owned", application_id=topic, clock=clock)
    reader = tables.open(topic, name="reader")
    owned.put("session", 1, ttl="10m")
    owned.put("lasting", 2)
    wait_until(lambda: reader.get("lasting") == 2, "the reader to follow")
    clock.set_back_s = -11 * 60.0  # wall time moves on; brokers refuse records an hour ahead
    wait_until(lambda: len(owned) == 1, "the tombstone")
    wait_until(lambda: reader.get("session") is None, "the reader, whose clock is behind")
    log = [record for record in read_raw(connection, topic) if record.key == b"session"]
    assert [record.value for record in log] == [b"1", None]
