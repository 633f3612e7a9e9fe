"""A sweep schedule without Kafka: the test says what the log holds and carries results over."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lastword.records import Batch
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.sweep.schedule import SweepSchedule
from lastword.rows import decode_row
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic
from tests.support.local_tables.written_log import WrittenLog

WAIT_S = 180.0
RETENTION_MS = 10_000


class Lab:
    """A schedule whose passes read ``log``, and the thread that carries its findings out."""

    def __init__(self, topic: OfflineTopic, clock: FakeClock) -> None:
        self.topic = topic
        self.clock = clock
        self.log: list[Batch] = []
        self.passes = 0
        self.failure: Exception | None = None
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.end = 2
        self.schedule = SweepSchedule(
            WrittenLog(self.read),
            "topic",
            clock=clock,
            post=self._inbox.put,
            drop=self.drop,
            end_of=lambda _partition: self.end,
        )

    def read(self) -> list[Batch]:
        self.passes += 1
        if self.failure is not None:
            raise self.failure
        return self.log

    def drop(self, follower: PartitionFollower, doomed: list[tuple[bytes, int]]) -> int:
        return len(follower.drop(doomed))

    def consider(self, follower: PartitionFollower, *, first: bool = False) -> None:
        self.schedule.consider(follower, self.topic.topic_state, first=first)

    def carry_out(self, posts: int) -> None:
        """What the tailing thread does with that many messages of the pass."""
        for _ in range(posts):
            self._inbox.get(timeout=WAIT_S)()

    def reach_and_drop(self) -> None:
        """The table has reached the end that was captured after the pass."""
        self.schedule.check()
        self.carry_out(posts=2)

    def rows(self) -> dict[bytes, bytes]:
        return {key: decode_row(row).value for key, row in self.topic.store.scan()}


def lagging(lab: Lab) -> PartitionFollower:
    """A live follower with rows a and b that has been behind for too long."""
    follower = lab.topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    fall_behind(lab, follower)
    return follower


def fall_behind(lab: Lab, follower: PartitionFollower) -> None:
    lab.clock.advance(seconds=RETENTION_MS / 1000)
    follower.check_lag()
    follower.on_topic_state(lab.topic.state(2))
    assert follower.sweep_due


@contextmanager
def running_lab(clock: FakeClock) -> Iterator[Lab]:
    """A lab for a topic whose values are bad when they begin with an exclamation mark."""
    topic = OfflineTopic(clock, lambda _key, value, _: "bad" if value.startswith(b"!") else None)
    topic.state(delete_retention_ms=RETENTION_MS)
    lab = Lab(topic, clock)
    lab.schedule.start()
    try:
        yield lab
    finally:
        lab.schedule.stop()
