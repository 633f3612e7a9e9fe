"""When a partition is swept, how often, and what becomes of the findings."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator

import pytest

from lastword.errors import ConnectionFailedError
from lastword.follow import sweep_schedule
from lastword.follow.partition import PartitionFollower
from lastword.follow.rows import decode_row
from lastword.follow.sweep_schedule import RETRY_MS, SweepSchedule
from lastword.kafka.connection import Connection
from lastword.records import Batch
from lastword.testing.fake_clock import FakeClock
from tests.support.offline_topic import OfflineTopic, batch_of

WAIT_S = 60.0
RETENTION_MS = 10_000


class Lab:
    """A schedule whose passes read ``log``, and the thread that carries its findings out."""

    def __init__(self, topic: OfflineTopic, clock: FakeClock) -> None:
        self.topic = topic
        self.clock = clock
        self.log: list[Batch] = []
        self.passes = 0
        self.unreachable = False
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        nowhere = Connection(bootstrap_servers="127.0.0.1:1")
        self.schedule = SweepSchedule(nowhere, "topic", clock, self._inbox.put, self.drop)

    def read(self, *_args: object, **_options: object) -> Iterator[Batch]:
        self.passes += 1
        if self.unreachable:
            raise ConnectionFailedError("the broker is away")
        return iter(self.log)

    def drop(self, follower: PartitionFollower, doomed: list[tuple[bytes, int]]) -> int:
        return len(follower.drop(doomed))

    def consider(self, follower: PartitionFollower, *, first: bool = False) -> None:
        self.schedule.consider(follower, self.topic.facts, first=first)

    def carry_out(self, posts: int) -> None:
        """What the tailing thread does with that many messages of the pass."""
        for _ in range(posts):
            self._inbox.get(timeout=WAIT_S)()

    def rows(self) -> dict[bytes, bytes]:
        return {key: decode_row(row).value for key, row in self.topic.store.scan()}


@pytest.fixture
def lab(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    topic = OfflineTopic(clock, lambda _key, value: "bad" if value.startswith(b"!") else None)
    topic.look(delete_retention_ms=RETENTION_MS)
    lab = Lab(topic, clock)
    monkeypatch.setattr(sweep_schedule, "read_range", lab.read)
    lab.schedule.start()
    yield lab
    lab.schedule.stop()


def lagging(lab: Lab) -> PartitionFollower:
    """A live follower with rows a and b that has been behind for too long."""
    follower = lab.topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    fall_behind(lab, follower)
    return follower


def fall_behind(lab: Lab, follower: PartitionFollower) -> None:
    lab.clock.advance(seconds=RETENTION_MS / 1000)
    follower.check_lag()
    follower.note_facts(lab.topic.look(2))
    assert follower.sweep_due


def test_a_pass_drops_what_is_gone_and_the_partition_is_trusted_again(lab: Lab) -> None:
    follower = lagging(lab)
    lab.log = [batch_of([(b"b", b"2")], first=1)]
    lab.consider(follower)
    lab.carry_out(posts=2)
    assert lab.rows() == {b"b": b"2"}
    assert not follower.stale


def test_a_partition_that_is_sound_is_not_swept(lab: Lab) -> None:
    lab.consider(lab.topic.live_follower([(b"a", b"1")]))
    assert lab.schedule.first_pending == set()
    lab.schedule.stop()
    assert lab.passes == 0


def test_the_restore_waits_for_its_first_pass(lab: Lab) -> None:
    follower = lagging(lab)
    lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
    lab.consider(follower, first=True)
    assert lab.schedule.first_pending == {0}
    lab.carry_out(posts=1)
    assert lab.schedule.first_pending == set()


def test_the_next_pass_is_a_minute_after_the_last(lab: Lab) -> None:
    follower = lagging(lab)
    lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
    lab.consider(follower)
    lab.carry_out(posts=1)
    for _ in range(5):
        fall_behind(lab, follower)
        lab.consider(follower)
        follower.sweep_due = False
    assert lab.passes == 1
    fall_behind(lab, follower)
    lab.consider(follower)
    lab.carry_out(posts=1)
    assert lab.passes == 2


def test_only_one_pass_is_under_way_for_a_partition(lab: Lab) -> None:
    follower = lagging(lab)
    lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
    for _ in range(3):
        lab.clock.advance(seconds=100)
        lab.consider(follower, first=True)
    lab.carry_out(posts=1)
    lab.schedule.stop()
    assert lab.passes == 1


def test_a_pass_that_could_not_read_the_log_is_tried_again_soon(lab: Lab) -> None:
    follower = lagging(lab)
    lab.unreachable = True
    lab.consider(follower, first=True)
    lab.carry_out(posts=1)
    assert follower.stale
    assert lab.schedule.first_pending == {0}
    lab.unreachable = False
    lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
    lab.clock.advance(seconds=RETRY_MS / 1000)
    follower.note_facts(lab.topic.look(2))
    lab.consider(follower)
    lab.carry_out(posts=1)
    assert not follower.stale
    assert lab.schedule.first_pending == set()


def test_what_a_pass_finds_about_a_partition_that_began_anew_is_ignored(lab: Lab) -> None:
    follower = lagging(lab)
    lab.consider(follower, first=True)
    lab.schedule.forget(0)
    lab.carry_out(posts=2)
    assert lab.rows() == {b"a": b"1", b"b": b"2"}
    assert lab.schedule.first_pending == set()


def test_rows_before_the_start_of_the_log_are_dropped(lab: Lab) -> None:
    follower = lab.topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    lab.schedule.trim(follower, 1)
    assert lab.rows() == {b"b": b"2"}


def test_a_good_row_is_kept_by_a_bad_record_until_that_has_expired_too(lab: Lab) -> None:
    follower = lab.topic.live_follower([(b"a", b"1"), (b"a", b"!")])
    lab.schedule.trim(follower, 1)
    assert lab.rows() == {b"a": b"1"}
    lab.schedule.trim(follower, 2)
    assert lab.rows() == {}
    assert follower.quarantine == {}
