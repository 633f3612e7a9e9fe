"""The owner of a partition deletes keys whose time to live is over, asked for or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastword.expiry import expires_header
from lastword.records import ABSENT
from lastword.rows import encode_row
from lastword.testing.waiting import wait_until
from lastword.writer.owned.expiring import ExpiringKeys
from lastword.writer.owned.requests import Applied, Conflicted, Current, Put, Read
from tests.support.shared_tables.owned_lab import OwnerLab, ask
from tests.support.shifted_clock import ShiftedClock

MINUTE_MS = 60_000
AT_MS = 1_700_000_000_000


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def lab(clock: ShiftedClock) -> Iterator[OwnerLab]:
    lab = OwnerLab(clock)
    yield lab
    lab.close()


def later(clock: ShiftedClock) -> None:
    """Wall time alone moves on: leases of reads go by the other clock."""
    clock.set_back_s = -61.0


def wait_for_tombstones(lab: OwnerLab, count: int) -> None:
    wait_until(lambda: lab.log.values().count(None) == count, f"{count} tombstones")


def test_an_expired_key_gets_its_tombstone_without_a_request(
    lab: OwnerLab, clock: ShiftedClock
) -> None:
    owner = lab.own()
    ask(owner, Put(key=b"short", value=b"1", ttl_ms=MINUTE_MS), Put(key=b"lasting", value=b"2"))
    later(clock)
    wait_for_tombstones(lab, 1)
    assert [r.key for r in lab.log.records if r.value is None] == [b"short"]
    (read,) = ask(owner, Read(key=b"short"))
    assert read == Current(None)


def test_a_successor_finds_what_expires_among_the_rows_that_it_takes_over(
    lab: OwnerLab, clock: ShiftedClock
) -> None:
    old = lab.own("old")
    ask(old, *[Put(key=b"%d" % n, value=b"1", ttl_ms=MINUTE_MS) for n in range(20)])
    lab.named["old"] = None
    old.stop()
    lab.own("new")
    assert None not in lab.log.values()
    later(clock)
    wait_for_tombstones(lab, 20)


def test_a_key_that_was_written_again_is_not_deleted(lab: OwnerLab, clock: ShiftedClock) -> None:
    owner = lab.own()
    ask(owner, Put(key=b"kept", value=b"1", ttl_ms=MINUTE_MS))
    ask(owner, Put(key=b"renewed", value=b"1", ttl_ms=MINUTE_MS))
    ask(owner, Put(key=b"kept", value=b"2"), Put(key=b"renewed", value=b"2", ttl_ms=2 * MINUTE_MS))
    ask(owner, Put(key=b"gone", value=b"1", ttl_ms=MINUTE_MS))
    later(clock)
    wait_for_tombstones(lab, 1)
    assert [r.key for r in lab.log.records if r.value is None] == [b"gone"]


def test_a_condition_sees_an_expired_key_as_absent_and_its_version_as_past(
    lab: OwnerLab, clock: ShiftedClock
) -> None:
    owner = lab.own()
    (old,) = ask(owner, Put(key=b"a", value=b"1", ttl_ms=MINUTE_MS))
    assert isinstance(old, Applied)
    later(clock)
    (refused,) = ask(owner, Put(key=b"a", value=b"2", expected=old.version))
    assert isinstance(refused, Conflicted)
    (taken,) = ask(owner, Put(key=b"a", value=b"3", expected=ABSENT))
    assert isinstance(taken, Applied)
    assert lab.log.values() == [b"1", None, b"3"]


def test_tombstones_that_were_lost_are_written_after_all(
    lab: OwnerLab, clock: ShiftedClock
) -> None:
    owner = lab.own()
    ask(owner, Put(key=b"a", value=b"1", ttl_ms=MINUTE_MS))
    lab.logs[0].lose_batches = 1
    later(clock)
    wait_for_tombstones(lab, 1)
    assert owner.row_now(b"a") in ((None,), None)


def test_a_batch_of_tombstones_is_bounded() -> None:
    def row(offset: int) -> bytes:
        return encode_row(offset, 0, (expires_header(AT_MS),), b"v")

    keys = ExpiringKeys("test", batch_bytes=10_000)
    keys.begin((b"%04d" % n + b"k" * 400, row(n)) for n in range(50))
    taken = []
    wait_until(lambda: bool(taken.extend(keys.take(AT_MS)) or len(taken) == 50), "all of them")
    keys.give_back(taken)
    assert len(keys.take(AT_MS)) == 10
    keys.stop()
