"""Reads wait for the writes of their own process, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lastword.errors import NotUpToPositionError
from lastword.records import Position, Version
from lastword.replicas.versions.versions import VersionLimit
from lastword.table.raw import RawTable
from lastword.table.writing.unread_writes import LOST_AFTER_MS
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_table import OfflineTable

IMPATIENT_S = 0.01

READS: dict[str, Callable[[RawTable, bytes], object]] = {
    "row": lambda raw, key: raw.row(key),
    "rows": lambda raw, key: raw.rows([key]),
    "get": lambda raw, key: raw.get(key, timeout_s=IMPATIENT_S),
    "get_many": lambda raw, key: raw.get_many([key], timeout_s=IMPATIENT_S),
    "scan": lambda raw, _: list(raw.scan(timeout_s=IMPATIENT_S)),
    "count": lambda raw, _: raw.count(timeout_s=IMPATIENT_S),
    "watch": lambda raw, _: raw.watch().close(),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads without a timeout of their own, too."""
    monkeypatch.setattr("lastword.table.raw.AT_LEAST_TIMEOUT_S", IMPATIENT_S)
    monkeypatch.setattr("lastword.table.version_reads._WAIT_S", IMPATIENT_S)


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_read_waits_for_what_was_acknowledged_to_this_process(
    table: OfflineTable, read: Callable[[RawTable, bytes], object]
) -> None:
    key = table.key_in(1)
    table.append(key, b"1")
    table.raw.reflect(Version(1, 1))
    with pytest.raises(NotUpToPositionError, match="not yet at 1:2"):
        read(table.raw, key)
    table.append(key, b"2")
    read(table.raw, key)
    answer = table.raw.get(key).value
    assert answer is not None
    assert answer.value == b"2"


def test_a_read_of_kept_versions_waits_as_well(clock: FakeClock) -> None:
    table = OfflineTable(clock, keep=VersionLimit(5))
    key = table.key_in(1)
    assert table.raw.past is not None
    table.append(key, b"1")
    table.raw.reflect(Version(1, 1))
    with pytest.raises(NotUpToPositionError):
        table.raw.past.records(key)
    table.append(key, b"2")
    assert [record.value for record in table.raw.past.records(key)] == [b"1", b"2"]


def test_other_partitions_are_read_at_once(table: OfflineTable) -> None:
    table.raw.reflect(Version(1, 0))
    assert table.raw.row(table.key_in(0)) == (0, None)
    assert table.raw.get_many([table.key_in(2)]).value == []
    assert table.raw.waits_for_writes(table.key_in(1))
    assert not table.raw.waits_for_writes(table.key_in(0))


def test_a_stale_read_is_answered_at_once_and_says_so(table: OfflineTable) -> None:
    key = table.key_in(1)
    table.append(key, b"1")
    table.raw.reflect(Version(1, 1))
    answer = table.raw.get(key, allow_stale=True)
    assert answer.value is not None
    assert (answer.value.value, answer.stale) == (b"1", True)
    assert table.raw.get_many([key], allow_stale=True).stale
    table.append(key, b"2")
    assert not table.raw.get(key, allow_stale=True).stale


def test_reads_at_once_do_not_wait_for_writes(table: OfflineTable) -> None:
    key = table.key_in(1)
    table.append(key, b"1")
    table.raw.reflect(Version(1, 1))
    assert table.raw.unread() == Position({1: 2})
    assert table.raw.at_once.row(key)[0] == 1
    assert table.raw.at_once.get(key).position.offsets == {1: 1}


def test_an_earlier_write_that_is_noted_late_does_not_hide_a_later_one(table: OfflineTable) -> None:
    table.raw.reflect(Version(1, 1))
    table.raw.reflect(Version(1, 0))
    table.append(table.key_in(1), b"1")
    assert table.raw.unread().offsets == {1: 2}


def test_a_write_that_the_log_has_lost_is_not_waited_for_forever(
    table: OfflineTable, clock: FakeClock
) -> None:
    key = table.key_in(1)
    table.raw.reflect(Version(1, 4))
    clock.advance(seconds=LOST_AFTER_MS / 1000 - 1)
    table.append(key, b"1")  # the log ends at 1, which a new leader may say for a moment
    assert table.raw.unread().offsets == {1: 5}
    clock.advance(seconds=1)
    table.append(table.key_in(0), b"1")
    assert table.raw.unread().offsets == {}
    assert table.raw.row(key)[1] is not None


def test_a_write_to_a_topic_that_was_deleted_is_not_waited_for(table: OfflineTable) -> None:
    table.raw.reflect(Version(1, 4))
    table.following.topic_state = replace(table.following.topic_state, topic_id="topic-b")
    assert table.raw.row(table.key_in(1)) == (1, None)
    table.raw.reflect(Version(1, 0))
    assert table.raw.unread().offsets == {1: 1}
