from __future__ import annotations

from lastword.records import Position, Version
from lastword.writer.evictions import Evictions

AT_5 = Position({0: 5})


def test_an_expired_key_without_writes_is_deleted_at_once() -> None:
    assert Evictions().evict([b"a", b"b"], AT_5) == [b"a", b"b"]


def test_a_tombstone_waits_for_a_write_of_the_same_key() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a"])
    assert evictions.evict([b"a", b"b"], AT_5) == [b"b"]


def test_a_write_that_the_eviction_had_seen_is_deleted_after_it() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a"])
    evictions.evict([b"a"], AT_5)
    assert evictions.end_write([b"a"], [Version(0, 4)]) == [b"a"]


def test_a_write_that_is_newer_than_the_eviction_is_kept() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a"])
    evictions.evict([b"a"], AT_5)
    assert evictions.end_write([b"a"], [Version(0, 5)]) == []


def test_a_write_that_failed_does_not_save_the_key() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a"])
    evictions.evict([b"a"], AT_5)
    assert evictions.end_write([b"a"], [None]) == [b"a"]


def test_the_last_of_several_writes_decides() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a"])
    evictions.begin_write([b"a"])
    evictions.evict([b"a"], AT_5)
    assert evictions.end_write([b"a"], [Version(0, 9)]) == []
    assert evictions.end_write([b"a"], [Version(0, 4)]) == []


def test_a_key_written_twice_in_one_batch_is_decided_once() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a", b"a"])
    evictions.evict([b"a"], AT_5)
    assert evictions.end_write([b"a", b"a"], [Version(0, 3), Version(0, 4)]) == [b"a"]


def test_a_later_write_knows_nothing_of_an_eviction_that_is_settled() -> None:
    evictions = Evictions()
    evictions.begin_write([b"a"])
    evictions.evict([b"a"], AT_5)
    evictions.end_write([b"a"], [Version(0, 6)])
    evictions.begin_write([b"a"])
    assert evictions.end_write([b"a"], [Version(0, 7)]) == []
