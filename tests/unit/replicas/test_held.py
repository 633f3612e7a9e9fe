"""Several replicas as of one moment, and what a replica that left answers."""

from __future__ import annotations

import threading

import pytest

from lastword.errors import PartitionNotHereError, StoreError
from lastword.records import Position
from lastword.replicas.replica import Replica
from lastword.replicas.watch.feed import PartitionGained, PartitionLost, Subscription
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.tail_lab import TailLab


@pytest.fixture
def lab(clock: FakeClock) -> TailLab:
    return TailLab(clock, [2, 0, 1])


def locked(lab: TailLab) -> list[int]:
    return [p for p, replica in lab.held.now.items() if replica.lock.locked()]


def test_one_moment_holds_the_locks_of_its_replicas_only(lab: TailLab) -> None:
    assert list(lab.held.now) == [0, 1, 2]
    with lab.held.one_moment([2, 0]) as seen:
        assert (list(seen), locked(lab)) == ([0, 2], [0, 2])
    with lab.held.one_moment() as seen:
        assert (list(seen), locked(lab)) == ([0, 1, 2], [0, 1, 2])
    assert locked(lab) == []


def test_one_moment_with_a_missing_partition_holds_no_lock(lab: TailLab) -> None:
    lab.held.remove(lab.held.at(1))
    with pytest.raises(PartitionNotHereError, match="partition 1"), lab.held.one_moment([0, 1]):
        pass
    assert locked(lab) == []


def test_a_replica_that_leaves_while_a_thread_waits_for_its_lock_is_not_returned(
    lab: TailLab,
) -> None:
    leaving, entered = lab.held.at(1), threading.Event()

    def enter() -> None:
        with pytest.raises(PartitionNotHereError), lab.held.one_moment([0, 1]):
            pass
        entered.set()

    with leaving.lock:
        threading.Thread(target=enter, daemon=True).start()
        leaving.lost = True  # as ``remove`` does, under this lock
    assert entered.wait(180)
    assert locked(lab) == []


def test_the_set_does_not_change_within_one_moment_of_all(lab: TailLab) -> None:
    leaving = threading.Thread(target=lab.held.remove, args=[lab.held.at(1)], daemon=True)
    with lab.held.one_moment() as seen:
        leaving.start()
        assert (list(seen), list(lab.held.now)) == ([0, 1, 2], [0, 1, 2])
    leaving.join(180)
    assert list(lab.held.now) == [0, 2]
    assert list(seen) == [0, 1, 2], "who has the set in hand keeps it"


def test_gained_and_lost_partitions_are_published_if_they_were_served(lab: TailLab) -> None:
    watching = Subscription(lab.held.feed, Position())
    lab.held.feed.join(watching)
    lab.held.remove(lab.held.at(0))
    lab.held.make_ready(lab.held.at(1))
    lab.held.remove(lab.held.at(1))
    told = [watching.take(0) for _ in range(3)]
    assert told == [PartitionGained(1, 0), PartitionLost(1, 0), None]


def every_read(replica: Replica) -> list[object]:
    return [
        lambda: replica.get(b"key"),
        lambda: replica.get_many([b"key"]),
        replica.scan,
        replica.count,
    ]


@pytest.mark.parametrize(("lost", "error"), [(True, PartitionNotHereError), (False, StoreError)])
def test_a_closed_store_is_an_error_that_says_whether_its_partition_left(
    lab: TailLab, lost: bool, error: type[Exception]
) -> None:
    replica = lab.held.at(0)
    replica.lost = lost
    replica.store.close()
    for read in every_read(replica):
        with pytest.raises(error):
            read()  # type: ignore[operator]
