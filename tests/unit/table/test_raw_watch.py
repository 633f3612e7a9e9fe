"""A watch in bytes: what was missed, then what is applied, and when it is refused."""

from __future__ import annotations

import pytest

from lastword.errors import NotReadyError, WatchLostError
from lastword.records import Batch, Position
from lastword.replicas.watch.feed import Dropped, PartitionGained, PartitionLost
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.logged_changes import resumed
from tests.support.local_tables.offline_table import TOPIC_ID, OfflineTable
from tests.support.local_tables.offline_topic import DAY_MS, batch_of


def test_applied_changes_are_seen_in_order(table: OfflineTable) -> None:
    watch = table.raw.watch()
    assert watch.start == Position({0: 0, 1: 0, 2: 0}, TOPIC_ID)
    version = table.append(b"a", b"1")
    batch = watch.take(1)
    assert isinstance(batch, Batch)
    assert (batch.partition, list(batch.keys)) == (version.partition, [b"a"])
    idle = watch.take(0)
    assert isinstance(idle, Position)
    assert idle.offsets[version.partition] == 1
    watch.close()
    assert len(table.replicas.feed) == 0


def test_records_that_are_not_of_the_table_are_dropped(table: OfflineTable) -> None:
    watch = table.raw.watch()
    here = table.key_in(0)
    table._intake.accept(batch_of([(here, b"1"), (None, b"2"), (table.key_in(1), b"3")]))
    batch = watch.take(1)
    assert isinstance(batch, Batch)
    assert [record.key for record in table.raw.records_of_table(batch)] == [here]


def test_a_partition_that_comes_or_leaves_is_announced(clock: FakeClock) -> None:
    table = OfflineTable(clock, held=(0,))
    watch = table.raw.watch()
    table.restore(1)
    assert watch.take(1) == PartitionGained(1, 0)
    table.lose(0)
    assert watch.take(1) == PartitionLost(0, 0)
    idle = watch.take(0)
    assert isinstance(idle, Position)
    assert list(idle.offsets) == [1]


def test_a_restoring_partition_is_not_part_of_the_position(clock: FakeClock) -> None:
    table = OfflineTable(clock, held=(0,))
    watch = table.raw.watch()
    table.begin(1)
    idle = watch.take(0)
    assert isinstance(idle, Position)
    assert list(idle.offsets) == [0]
    with pytest.raises(NotReadyError):
        table.raw.watch()


def test_missed_changes_come_before_applied_ones(table: OfflineTable, clock: FakeClock) -> None:
    key = table.key_in(0)
    table.append(key, b"1")
    seen = Position({0: 0}, TOPIC_ID, clock.now_ms() - 1000)
    watch = resumed(table, seen, batch_of([(key, b"1")]))
    assert watch.start.offsets == {0: 0, 1: 0, 2: 0}
    assert watch.start.complete_at_ms == seen.complete_at_ms
    table.append(key, b"2")
    values = [
        list(item.values) for item in (watch.take(1), watch.take(1)) if isinstance(item, Batch)
    ]
    assert values == [[b"1"], [b"2"]]
    assert watch.origin.complete_at_ms == table.raw.position().complete_at_ms


def test_a_position_that_is_too_old_is_refused(table: OfflineTable, clock: FakeClock) -> None:
    old = Position({0: 0}, TOPIC_ID, clock.now_ms() - DAY_MS)
    with pytest.raises(WatchLostError, match="may have left the log"):
        table.raw.missed(old)
    with pytest.raises(WatchLostError, match="does not name its topic"):
        table.raw.missed(Position({0: 0}))


def test_a_state_that_becomes_too_old_during_the_read_is_refused_at_the_end(
    table: OfflineTable, clock: FakeClock
) -> None:
    since = Position({0: 0}, TOPIC_ID, clock.now_ms())
    watch = resumed(table, since, batch_of([(table.key_in(0), b"1")]))
    assert isinstance(watch.take(1), Batch)
    clock.advance(seconds=DAY_MS / 1000)
    with pytest.raises(WatchLostError, match="may have left the log"):
        watch.take(1)


def test_a_watch_cannot_resume_a_partition_that_has_published_nothing(
    clock: FakeClock,
) -> None:
    table = OfflineTable(clock, held=(0,))
    table.begin(1)
    with pytest.raises(NotReadyError, match="partition 1 of topic was being restored"):
        resumed(table, Position({1: 0}, TOPIC_ID, clock.now_ms()))
    assert len(table.replicas.feed) == 0


def test_keys_that_a_sweep_dropped_are_seen(table: OfflineTable) -> None:
    watch = table.raw.watch()
    table.held.publish(Dropped(0, [b"a"]))
    assert watch.take(1) == Dropped(0, [b"a"])


def test_a_watcher_that_is_cut_off_gets_the_reason_after_the_queued_changes(
    table: OfflineTable,
) -> None:
    watch = table.raw.watch()
    table.append(b"a", b"1")
    watch.cut_off(WatchLostError("enough"))
    assert isinstance(watch.take(1), Batch)
    with pytest.raises(WatchLostError, match="enough"):
        watch.take(1)
