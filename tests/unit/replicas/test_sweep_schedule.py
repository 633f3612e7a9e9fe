"""When a partition is swept, how often, and what becomes of the findings."""

from __future__ import annotations

from lastword.errors import ConnectionFailedError
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.sweep.schedule import REACH_WITHIN_S, RETRY_MS
from tests.support.local_tables.offline_topic import batch_of
from tests.support.local_tables.sweep_lab import RETENTION_MS, Lab, fall_behind, lagging


def test_a_pass_drops_dead_rows_and_the_partition_is_sound_again(lab: Lab) -> None:
    follower = lagging(lab)
    lab.log = [batch_of([(b"b", b"2")], first=1)]
    lab.consider(follower)
    lab.carry_out(posts=2)
    assert lab.rows() == {b"a": b"1", b"b": b"2"}
    lab.reach_and_drop()
    assert lab.rows() == {b"b": b"2"}
    assert not follower.freshness.stale


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
        follower.soundness.sweep_due = False
    assert lab.passes == 1
    fall_behind(lab, follower)
    lab.consider(follower)
    lab.carry_out(posts=1)
    assert lab.passes == 2


def test_nothing_is_dropped_before_the_end_captured_after_the_pass_is_reached(lab: Lab) -> None:
    follower = lagging(lab)
    lab.end = 3
    lab.consider(follower)
    lab.carry_out(posts=2)
    lab.schedule.check()
    assert lab.rows() == {b"a": b"1", b"b": b"2"}
    follower.accept(batch_of([(b"a", b"3")], first=2), gather=False)
    lab.reach_and_drop()
    assert lab.rows() == {b"a": b"3"}


def test_an_end_that_took_long_to_reach_is_captured_again(lab: Lab) -> None:
    """A key may have been written beyond it, and what was before it cleaned away, meanwhile."""
    follower = lagging(lab)
    lab.end = 3
    lab.consider(follower)
    lab.carry_out(posts=2)
    lab.clock.advance(seconds=REACH_WITHIN_S + 1)
    lab.end = 4
    follower.accept(batch_of([(b"b", b"3")], first=2), gather=False)
    lab.schedule.check()
    lab.carry_out(posts=1)
    follower.accept(batch_of([(b"a", b"4")], first=3), gather=False)
    lab.schedule.check()
    lab.carry_out(posts=1)
    assert lab.rows() == {b"a": b"4", b"b": b"3"}


def test_a_live_table_catches_up_before_it_is_swept(lab: Lab) -> None:
    follower = lagging(lab)
    lab.clock.advance(seconds=RETENTION_MS / 1000)
    follower.on_topic_state(lab.topic.state(5))
    lab.consider(follower)
    assert follower.sweep is None


def test_only_one_pass_at_a_time_runs_for_a_partition(lab: Lab) -> None:
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
    lab.failure = ConnectionFailedError("the broker is away")
    lab.consider(follower, first=True)
    lab.carry_out(posts=1)
    assert follower.freshness.stale
    assert lab.schedule.first_pending == {0}
    lab.failure = None
    lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
    lab.clock.advance(seconds=RETRY_MS / 1000)
    follower.on_topic_state(lab.topic.state(2))
    lab.consider(follower)
    lab.carry_out(posts=1)
    assert not follower.freshness.stale
    assert lab.schedule.first_pending == set()


def test_a_pass_over_a_partition_that_restarted_is_ignored(lab: Lab) -> None:
    follower = lagging(lab)
    lab.consider(follower, first=True)
    lab.schedule.forget(0)
    lab.carry_out(posts=1)
    lab.schedule.check()
    assert lab.rows() == {b"a": b"1", b"b": b"2"}
    assert lab.schedule.first_pending == set()


def test_rows_before_the_start_of_the_log_are_dropped(lab: Lab) -> None:
    follower = lab.topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    expire(lab, follower, below=1)
    assert lab.rows() == {b"b": b"2"}


def test_a_good_row_is_kept_by_a_bad_record_until_that_has_expired_too(lab: Lab) -> None:
    follower = lab.topic.live_follower([(b"a", b"1"), (b"a", b"!")])
    expire(lab, follower, below=1)
    assert lab.rows() == {b"a": b"1"}
    expire(lab, follower, below=2)
    assert lab.rows() == {}
    assert not follower.quarantine


def test_rows_that_expired_before_are_not_looked_for_again(lab: Lab) -> None:
    follower = lab.topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    expire(lab, follower, below=1)
    lab.consider(follower)
    assert follower.sweep is None


def expire(lab: Lab, follower: PartitionFollower, *, below: int) -> None:
    """The log starts at ``below`` now, and nobody deleted anything."""
    lab.topic.state(2, starts={0: below})
    lab.consider(follower)
    lab.carry_out(posts=2)
    lab.reach_and_drop()
    assert not follower.freshness.stale
