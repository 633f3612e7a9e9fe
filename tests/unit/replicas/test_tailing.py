"""The parts that follow a topic, put together with a hand-made reader."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import pytest

from lastword.errors import (
    NotReadyError,
    PartitionCountError,
    PartitionNotHereError,
    WatchLostError,
)
from lastword.kafka.log.source import EndOfLog, PositionLost
from lastword.records import Position
from lastword.replicas.restore_source import RestorePoint
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.watch.feed import PartitionGained, PartitionLost, Subscription
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.tail_lab import GatheringStore, TailLab
from tests.support.shared_tables.partial_tables import PARTITIONS, keys_in

A, B, C = (keys_in(partition, 3) for partition in range(PARTITIONS))
ALL_READY, RESTORING, REBALANCING = (True, False), (False, False), (False, True)


@pytest.fixture
def tail(clock: FakeClock) -> Iterator[TailLab]:
    """Holds partitions 0 and 2 of 3; the log of 0 has a record to restore."""
    lab = TailLab(clock, [0, 2])
    lab.begin({0: 1})
    yield lab
    lab.stop()


def subscribed(lab: TailLab) -> Subscription:
    subscription = Subscription(lab.held.feed, Position())
    lab.held.feed.join(subscription)
    return subscription


def live(lab: TailLab) -> None:
    lab.feed(0, [(A[0], b"1")])
    assert lab.told == [ALL_READY]


def test_each_replica_is_ready_when_it_has_reached_its_own_end(tail: TailLab) -> None:
    tail.run_once()
    assert [replica.ready for replica in tail.held.now.values()] == [False, True]
    with pytest.raises(NotReadyError, match=r"partition 0 of topic .* 1 offsets are unread"):
        tail.held.at(0).ensure_ready()
    assert tail.told == []
    live(tail)
    assert tail.held.at(0).get(A[0]) is not None


def test_news_of_a_partition_that_is_not_followed_is_ignored(tail: TailLab) -> None:
    live(tail)
    tail.feed(1, [(B[0], b"1")])
    tail.reader.news.extend([EndOfLog(1, 5), PositionLost(1, "gone")])
    tail.run_once()
    assert tail.intake.drop(tail.replica(1).follower, [(B[0], 0)]) == 0
    assert tail.told == [ALL_READY]


def test_a_lost_place_costs_the_readiness_of_one_partition(tail: TailLab) -> None:
    live(tail)
    watching = subscribed(tail)
    del tail.reader.assigned[0]
    tail.reader.news.append(PositionLost(0, "truncated"))
    tail.run_once()
    assert tail.told == [ALL_READY, RESTORING]
    with pytest.raises(WatchLostError, match="truncated"):
        watching.take(0)
    tail.feed(2, [(C[0], b"2")])
    assert tail.held.at(2).ready
    assert tail.held.at(2).get(C[0]) is not None
    assert 0 not in tail.reader.assigned, "it waits for the next look at the topic"
    tail.observe({0: 3})
    tail.run_until(lambda: 0 in tail.reader.assigned, "the store is prepared")
    assert tail.held.at(0).count() == 0
    tail.feed(0, [(A[0], b"3"), (A[1], b"3"), (A[2], b"3")])
    assert tail.told == [ALL_READY, RESTORING, ALL_READY]


def test_a_topic_that_was_created_again_makes_every_replica_begin_again(tail: TailLab) -> None:
    live(tail)
    tail.observe({0: 0}, topic_id="topic-b")
    assert [replica.ready for replica in tail.held.now.values()] == [False, False]
    tail.run_until(lambda: tail.told[-1] == ALL_READY, "the new topic is empty")
    assert {replica.topic_id for replica in tail.held.now.values()} == {"topic-b"}
    assert tail.held.at(0).count() == 0


def test_watchers_learn_which_partitions_come_and_go(tail: TailLab) -> None:
    live(tail)
    watching = subscribed(tail)
    tail.state({1: 1})
    tail.reaction.gain(tail.replica(1))
    assert tail.told[-1] == REBALANCING
    tail.run_until(lambda: 1 in tail.reader.assigned, "its store is prepared")
    tail.observe({1: 1})
    before = tail.feed(1, [(B[0], b"1")])
    after = tail.feed(1, [(B[1], b"2")], first=1)
    tail.reaction.lose(tail.held.at(1))
    tail.run_once()
    assert [watching.take(0) for _ in range(4)] == [
        PartitionGained(1, 0),
        before,
        after,
        PartitionLost(1, 2),
    ]
    assert 1 not in tail.reader.assigned
    with pytest.raises(PartitionNotHereError):
        tail.held.at(1)
    assert tail.told[-1] == ALL_READY


def test_a_look_that_finds_more_partitions_is_refused(tail: TailLab) -> None:
    with pytest.raises(PartitionCountError):
        tail.observe(partitions=PARTITIONS + 1)


def test_a_restore_gathers_up_to_the_batch_size_of_its_store(clock: FakeClock) -> None:
    lab = TailLab(clock, [])
    for partition in (0, 2):
        lab.held.add(lab.replica(partition, GatheringStore()))
    lab.begin({0: 4, 2: 2})
    lab.feed(0, [(A[0], b"v" * 600)])
    lab.feed(2, [(C[0], b"v" * 200)])
    assert [replica.position for replica in lab.held.now.values()] == [0, 0]
    lab.feed(2, [(C[1], b"v" * 300)], first=1)  # together too much: the larger one is applied
    assert lab.held.at(0).position == 1
    lab.stop()


class Snapshots:
    """Offers rows, once a test says so."""

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()

    def points(self, partition: int, _topic_state: TopicState) -> Iterator[RestorePoint]:
        def rows(_bytes: int) -> Iterator[Mapping[bytes, bytes]]:
            self.asked.set()
            assert self.go_on.wait(180)
            yield {b"row": b"\x10" + bytes(16)}

        yield RestorePoint("snapshot 1", 1, -1, 0, 0, rows)


def test_the_others_are_followed_while_a_store_is_filled(clock: FakeClock) -> None:
    snapshots = Snapshots()
    lab = TailLab(clock, [0, 2], snapshots)
    lab.state({0: 1})
    snapshots.go_on.set()
    lab.begin({0: 1})
    lab.run_once()
    snapshots.go_on.clear()
    snapshots.asked.clear()
    gained = lab.replica(1)
    lab.state({1: 1})
    lab.observe()
    lab.reaction.gain(gained)
    assert snapshots.asked.wait(180)
    lab.feed(2, [(C[0], b"1")], first=1)
    assert lab.held.at(2).get(C[0]) is not None
    lab.reaction.lose(gained)
    assert not gained.preparing.acquire(blocking=False), "it is still being filled"
    snapshots.go_on.set()
    with gained.preparing:
        lab.run_once()
    assert 1 not in lab.reader.assigned
    lab.stop()


def test_an_error_while_a_store_is_prepared_ends_the_following(
    tail: TailLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tail)
    monkeypatch.setattr(tail.starter, "_prepared", lambda *_: 1 / 0)
    tail.reaction.gain(tail.replica(1))
    with pytest.raises(ZeroDivisionError):
        tail.run_until(lambda: False, "the error")
