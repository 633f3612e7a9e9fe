"""Reads in bytes: what each says it reflects, and what it needs to be answered."""

from __future__ import annotations

import pytest

from lastword.errors import (
    ConfigError,
    NotReadyError,
    NotUpToPositionError,
    PartitionNotHereError,
    TableClosedError,
)
from lastword.records import Position, Version
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_table import TOPIC_ID, OfflineTable

CONTACT_LOST_S = 11.0


def test_a_read_of_a_key_names_the_position_of_its_partition(table: OfflineTable) -> None:
    key = table.key_in(1)
    version = table.append(key, b"1")
    answer = table.raw.get(key)
    assert answer.value is not None
    assert (answer.value.key, answer.value.value, answer.value.version) == (key, b"1", version)
    assert answer.position == Position({1: version.offset + 1}, TOPIC_ID)
    assert not answer.stale
    assert table.raw.row(key)[0] == 1


def test_an_absent_key_is_answered_with_a_position(table: OfflineTable) -> None:
    table.append(table.key_in(2, b"other"), b"1")
    answer = table.raw.get(table.key_in(2))
    assert (answer.value, answer.position.offsets) == (None, {2: 1})
    assert table.raw.row(table.key_in(2)) == (2, None)


def test_many_keys_are_read_from_their_partitions_only(table: OfflineTable) -> None:
    here, there = table.key_in(0), table.key_in(2)
    table.append(here, b"1")
    table.append(there, b"2")
    answer = table.raw.get_many([there, here, table.key_in(0, b"absent")])
    assert {entry.key: entry.value for entry in answer.value} == {here: b"1", there: b"2"}
    assert answer.position.offsets == {0: 1, 2: 1}
    assert table.raw.get_many([]).value == []
    rows = {found.partition: found.keys for found in table.raw.rows([there, here])}
    assert rows == {0: [here], 2: [there]}
    assert table.raw.rows([]) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_in_the_order_of_bytes_over_all_partitions(
    table: OfflineTable, reverse: bool
) -> None:
    keys = [b"k%d" % n for n in range(20)]
    for key in keys:
        table.append(key, key)
    wanted = sorted(key for key in keys if b"k1" <= key < b"k3")
    scan = table.raw.scan(b"k1", b"k3", reverse=reverse)
    assert scan.position.offsets == table.raw.position().offsets
    table.append(b"k2", None)
    assert [entry.key for entry in scan] == (wanted[::-1] if reverse else wanted)
    assert table.raw.count().value == 19


def test_the_shape_decides_what_a_read_returns_and_skips(table: OfflineTable) -> None:
    table.append(b"a", b"1")
    table.append(b"b", b"2")

    def short(partition: int, key: bytes, _row: bytes) -> tuple[bytes, int] | None:
        return None if key == b"b" else (key, partition)

    home = table.keyspace.partition_of(b"a")
    assert list(table.raw.walk((None, None), short)) == [(b"a", home)]
    assert table.raw.read(b"a", short).value == (b"a", home)
    assert table.raw.read(b"b", short).value is None


def test_a_read_waits_for_the_position_it_asks_for(table: OfflineTable) -> None:
    key = table.key_in(1)
    version = table.append(key, b"1")
    assert table.raw.get(key, at_least=Position.after(version)).value is not None
    for read in (table.raw.scan, table.raw.count):
        with pytest.raises(NotUpToPositionError, match=r"is at 1:1.*, not yet at 1:2"):
            read(at_least=Position({1: 2}), timeout_s=0.01)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (Position({3: 0}), "names partitions that topic does not have"),
        (Position({0: 0}, "topic-b"), "belongs to an earlier topic with the name topic"),
    ],
)
def test_a_position_of_another_topic_is_refused_at_once(
    table: OfflineTable, position: Position, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        table.raw.count(at_least=position)


def test_reads_are_stale_once_the_cluster_has_not_answered(
    table: OfflineTable, clock: FakeClock
) -> None:
    table.append(b"a", b"1")
    assert not table.raw.count().stale
    clock.advance(seconds=CONTACT_LOST_S)
    answers = (table.raw.get(b"a"), table.raw.get_many([b"a"]), table.raw.count(), table.raw.scan())
    assert [(each.stale, each.contact_age_s) for each in answers] == [(True, CONTACT_LOST_S)] * 4


def test_every_read_is_counted_once(table: OfflineTable) -> None:
    table.raw.row(b"a")
    table.raw.get(b"a")
    table.raw.get_many([b"a", b"b"])
    table.raw.rows([b"a", b"b"])
    list(table.raw.scan())
    table.raw.count()
    counts = {name: table.metrics.latency(name).count for name in ("get", "get_many", "scan")}
    assert counts == {"get": 2, "get_many": 2, "scan": 1}
    assert table.metrics.latency("count").count == 1


# -- partitions that are not ready, or not here ------------------------------------------------


def test_a_partition_that_is_being_restored_holds_up_its_own_reads_only(clock: FakeClock) -> None:
    table = OfflineTable(clock, held=(0, 1))
    replica = table.begin(2)
    ready, unready = table.key_in(0), table.key_in(2)
    assert table.raw.get(ready).value is None
    assert table.raw.get_many([ready, table.key_in(1)]).value == []
    assert table.raw.count(partitions=(0, 1)).value == 0
    assert list(table.raw.scan(partitions=(0, 1))) == []
    for read in (
        lambda: table.raw.row(unready),
        lambda: table.raw.get(unready),
        lambda: table.raw.get_many([ready, unready]),
        lambda: table.raw.rows([ready, unready]),
        table.raw.count,
        table.raw.scan,
    ):
        with pytest.raises(NotReadyError, match="partition 2 of topic is being restored"):
            read()
    assert isinstance(table.raw.why_not_ready(), NotReadyError)
    replica.follower.go_live()
    table.held.make_ready(replica)
    assert table.raw.count().value == 0
    assert table.raw.why_not_ready() is None


def test_stale_answers_before_the_end_are_marked(clock: FakeClock) -> None:
    table = OfflineTable(clock, held=(0, 1))
    table.begin(2)
    key = table.key_in(2)
    assert table.raw.get(key, allow_stale=True).stale
    assert table.raw.get_many([key], allow_stale=True).stale
    assert table.raw.count(allow_stale=True).stale
    assert table.raw.scan(allow_stale=True).stale
    assert not table.raw.get(table.key_in(0), allow_stale=True).stale


@pytest.mark.parametrize("allow_stale", [False, True])
def test_a_missing_partition_is_never_silently_omitted(clock: FakeClock, allow_stale: bool) -> None:
    table = OfflineTable(clock, held=(0, 2))
    for read in (
        lambda: table.raw.get(table.key_in(1), allow_stale=allow_stale),
        lambda: table.raw.get_many([table.key_in(0), table.key_in(1)], allow_stale=allow_stale),
        lambda: table.raw.scan(allow_stale=allow_stale),
        lambda: table.raw.count(allow_stale=allow_stale),
        lambda: table.raw.scan(partitions=(0, 1), allow_stale=allow_stale),
        lambda: table.raw.get(table.key_in(0), at_least=Position({1: 0}), allow_stale=allow_stale),
    ):
        with pytest.raises(PartitionNotHereError, match="partition 1 of topic is not held"):
            read()
    with pytest.raises(PartitionNotHereError):
        table.raw.row(table.key_in(1))
    with pytest.raises(PartitionNotHereError):
        table.raw.rows([table.key_in(0), table.key_in(1)])
    assert table.raw.scan(partitions=(0, 2)).position.offsets == {0: 0, 2: 0}
    assert table.raw.count(partitions=(2,)).position.offsets == {2: 0}


def test_a_partition_that_left_is_not_here(table: OfflineTable) -> None:
    table.append(table.key_in(0), b"1")
    scan = table.raw.scan(partitions=(0,))
    table.lose(0)
    with pytest.raises(PartitionNotHereError):
        table.raw.get(table.key_in(0))
    with pytest.raises(PartitionNotHereError):
        list(scan)


def test_a_closed_table_raises_unless_stale_answers_are_allowed(table: OfflineTable) -> None:
    table.append(b"a", b"1")
    table.closed = TableClosedError("the table has failed")
    for read in (lambda: table.raw.row(b"a"), lambda: table.raw.get(b"a"), table.raw.count):
        with pytest.raises(TableClosedError):
            read()
    late = table.raw.get(b"a", allow_stale=True)
    assert late.value is not None
    assert late.stale


# -- writes ------------------------------------------------------------------------------------


def test_writes_are_handed_on_and_counted(table: OfflineTable) -> None:
    assert table.raw.put(b"a", b"1") == Version(table.keyspace.partition_of(b"a"), 0)
    assert table.raw.get(b"a").value is not None
    table.raw.put(b"a", None)
    assert table.raw.get(b"a").value is None
    counts = {name: table.metrics.latency(name).count for name in ("put", "delete", "put_many")}
    assert counts == {"put": 1, "delete": 1, "put_many": 0}


def test_nothing_is_written_that_could_not_be_read_back_here(clock: FakeClock) -> None:
    table = OfflineTable(clock, held=(0,))
    table.begin(1)
    table.raw.put(table.key_in(0), b"1")
    with pytest.raises(NotReadyError):
        table.raw.put(table.key_in(1), b"1")
    with pytest.raises(PartitionNotHereError):
        table.raw.put(table.key_in(2), b"1")
    assert dict(table.following.topic_state.ends) == {0: 1, 1: 0, 2: 0}
