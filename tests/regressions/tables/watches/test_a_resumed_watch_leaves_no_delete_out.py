"""A watch that resumes gets every delete since its position, or WatchLostError.

The log was read from the position on. A delete whose tombstone had been cleaned away was skipped
without an error, and so was one that a sweep had found, because it never had a record there.
"""

from __future__ import annotations

import pytest

from lastword.errors import WatchLostError
from lastword.records import Position
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.partition_views import position_of
from lastword.replicas.topic.topic_state import TopicState
from lastword.replicas.watch.resume import refuse_what_is_gone
from lastword.testing import wait_until
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RAW, MakeTopic
from tests.support.local_tables.sweep_lab import Lab, lagging, running_lab
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take
from tests.support.shifted_clock import ShiftedClock

RETENTION_MS = 10_000


def test_a_delete_whose_tombstone_was_cleaned_is_still_reported(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings=EAGER_COMPACTION | {"delete.retention.ms": "100"})
    topic.produce((b"kept", b"1"), (b"deleted", b"1"))
    table = tables.open(topic.name, **RAW)
    with table.watch() as watch:
        left_at = watch.position
    topic.produce((b"deleted", None))
    topic.compact_away(b"deleted")
    wait_until(lambda: b"deleted" not in table, "the table has seen the delete")
    with pytest.raises(WatchLostError, match=r"older than delete.retention.ms") as lost:
        table.watch(left_at)
    assert "read the table" in (lost.value.hint or "")


def test_a_position_grows_no_older_while_nothing_happens(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic, clock = make_topic(), ShiftedClock()
    table = tables.open(topic.name, clock=clock, **RAW)
    with table.watch() as watch:
        table.put(b"a", b"1")
        take(watch, 1)
        before = watch.position.complete_at_ms
        clock.shift_s = 47 * 3600.0  # as long as two retentions
        wait_until(
            lambda: watch.take(0.1) is None and watch.position.complete_at_ms > before + 3600_000,
            "a look at the topic, which has nothing new",
            timeout=180,
        )
        left_at = Position.parse(str(watch.position))
    table.put(b"a", b"2")
    with table.watch(left_at) as watch:
        assert [change.value for change in take(watch, 1)] == [b"2"]


def resume(follower: PartitionFollower, start: Position, topic_state: TopicState) -> None:
    refuse_what_is_gone(start, topic_state, {0: follower})


def test_deletes_that_a_sweep_found_are_reported() -> None:
    with running_lab(FakeClock()) as lab:
        follower = lagging(lab)
        before = position_of({0: follower}, follower.topic_id)  # it may still hold deleted keys
        sweep(lab, follower)
        assert lab.rows() == {}
        with pytest.raises(WatchLostError, match="a sweep found deletes"):
            resume(follower, before, lab.topic.topic_state)
        resume(follower, position_of({0: follower}, follower.topic_id), lab.topic.topic_state)


def sweep(lab: Lab, follower: PartitionFollower) -> None:
    lab.consider(follower)
    lab.carry_out(posts=2)
    lab.reach_and_drop()


def test_expired_keys_are_reported() -> None:
    with running_lab(FakeClock()) as lab:
        lab.topic.state(delete_retention_ms=24 * 3600_000)
        follower = lab.topic.live_follower([(b"a", b"1"), (b"b", b"2")])
        before = position_of({0: follower}, follower.topic_id)
        resume(follower, before, lab.topic.topic_state)
        follower.on_topic_state(lab.topic.state(2, starts={0: 1}))
        sweep(lab, follower)
        assert lab.rows() == {b"b": b"2"}
        with pytest.raises(WatchLostError, match="keys have expired"):
            resume(follower, before, lab.topic.topic_state)
        lab.clock.advance(seconds=120)
        follower.on_topic_state(lab.topic.state(2))
        resume(follower, position_of({0: follower}, follower.topic_id), lab.topic.topic_state)


def test_a_position_is_too_old_after_the_retention_and_in_time_before() -> None:
    topic = OfflineTopic(FakeClock())
    topic.state(delete_retention_ms=RETENTION_MS)
    follower = topic.live_follower([(b"a", b"1")])
    start = position_of({0: follower}, follower.topic_id)
    topic.clock.advance(seconds=RETENTION_MS / 1000 / 2)
    resume(follower, start, topic.topic_state)
    topic.clock.advance(seconds=RETENTION_MS / 1000 / 2)
    with pytest.raises(WatchLostError, match=r"older than delete\.retention\.ms"):
        resume(follower, start, topic.topic_state)
