"""What a table shows of each partition that it holds."""

from __future__ import annotations

from lastword.table.partition_view import PartitionView, views_of
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_table import OfflineTable


def views(table: OfflineTable) -> dict[int, PartitionView]:
    return {each.partition: each for each in views_of(table.replicas, table.clock.now_ms())}


def test_each_partition_has_its_own_position_and_size(table: OfflineTable) -> None:
    for n in range(3):
        table.append(table.key_in(1, b"key-%d" % n), b"value")
    shown = views(table)
    assert list(shown) == [0, 1, 2]
    assert (shown[1].position, shown[1].log_start, shown[1].log_end, shown[1].keys) == (3, 0, 3, 3)
    assert shown[1].store_bytes > shown[0].store_bytes
    assert (shown[0].position, shown[0].keys, shown[0].lag, shown[0].trouble) == (0, 0, 0, None)
    assert all(each.ready and each.live and not each.stale for each in shown.values())


def test_lag_says_how_much_and_for_how_long(table: OfflineTable, clock: FakeClock) -> None:
    clock.advance(seconds=5)
    table._observe(ends={0: 0, 1: 7, 2: 0})
    shown = views(table)
    assert (shown[1].lag, shown[1].lag_s) == (7, 5.0)
    assert (shown[0].lag, shown[0].lag_s) == (0, 0.0)


def test_a_partition_that_is_being_restored_shows_how_far_it_is(clock: FakeClock) -> None:
    table = OfflineTable(clock, held=(0,))
    table._observe(ends={0: 0, 1: 10, 2: 0}, stable_ends={0: 0, 1: 10, 2: 0})
    table.begin(1)
    shown = views(table)
    assert (shown[0].ready, shown[1].ready, shown[1].live) == (True, False, False)
    assert (shown[1].restore.position, shown[1].restore.end) == (0, 10)
    assert shown[1].stale


def test_a_partition_that_left_is_not_shown(table: OfflineTable) -> None:
    table.lose(1)
    assert list(views(table)) == [0, 2]


def test_a_partition_whose_cluster_is_silent_is_stale(
    table: OfflineTable, clock: FakeClock
) -> None:
    clock.advance(seconds=12)
    assert {(each.stale, each.contact_age_s) for each in views(table).values()} == {(True, 12.0)}
