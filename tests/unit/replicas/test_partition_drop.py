"""What a follower does with the findings of a pass over the log, quarantined records among them."""

from __future__ import annotations

import pytest

from lastword.replicas.apply.checkpoint import decode_checkpoint
from lastword.replicas.apply.quarantine import QUARANTINE_MAX
from lastword.replicas.partition_follower import PartitionFollower
from lastword.rows import decode_row
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic, batch_of

RETENTION_MS = 10_000


@pytest.fixture
def topic(clock: FakeClock) -> OfflineTopic:
    """A topic whose values are bad when they begin with an exclamation mark."""
    topic = OfflineTopic(clock, lambda _key, value, _: "bad" if value.startswith(b"!") else None)
    topic.state(delete_retention_ms=RETENTION_MS)
    return topic


@pytest.fixture
def due(topic: OfflineTopic, clock: FakeClock) -> PartitionFollower:
    """A follower that holds a and b and has been behind for too long, until now."""
    follower = topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    clock.advance(seconds=10)
    follower.check_lag()
    follower.on_topic_state(topic.state(2))
    assert follower.sweep_due
    return follower


def rows_of(topic: OfflineTopic) -> dict[bytes, bytes]:
    return {key: decode_row(row).value for key, row in topic.store.scan()}


def bad_offsets(follower: PartitionFollower) -> dict[bytes, int]:
    return {bad.key: bad.offset for bad in follower.quarantine}


# -- dropping and soundness -------------------------------------------------------------------


def test_a_row_found_dead_is_dropped(topic: OfflineTopic, due: PartitionFollower) -> None:
    assert due.drop([(b"a", 0)]) == [b"a"]
    assert rows_of(topic) == {b"b": b"2"}


def test_a_row_that_was_written_again_since_is_kept(
    topic: OfflineTopic, due: PartitionFollower
) -> None:
    due.accept(batch_of([(b"a", b"new")], first=2), gather=False)
    assert due.drop([(b"a", 0)]) == []
    assert rows_of(topic) == {b"a": b"new", b"b": b"2"}


def test_a_row_that_was_deleted_since_is_not_dropped_twice(due: PartitionFollower) -> None:
    due.accept(batch_of([(b"a", None)], first=2), gather=False)
    assert due.drop([(b"a", 0)]) == []


def test_a_pass_within_the_retention_makes_the_store_sound(
    due: PartitionFollower, clock: FakeClock
) -> None:
    due.swept(clock.now_ms(), duration_ms=500, dropped=3)
    assert not due.unsound


def test_a_slow_pass_that_dropped_something_is_not_the_last(
    due: PartitionFollower, clock: FakeClock
) -> None:
    due.swept(clock.now_ms(), duration_ms=RETENTION_MS, dropped=1)
    assert due.unsound


def test_a_slow_pass_that_found_nothing_makes_the_store_sound(
    due: PartitionFollower, clock: FakeClock
) -> None:
    due.swept(clock.now_ms(), duration_ms=RETENTION_MS, dropped=0)
    assert not due.unsound


def test_a_store_that_lags_when_the_pass_is_done_stays_stale(
    topic: OfflineTopic, due: PartitionFollower, clock: FakeClock
) -> None:
    began_ms = clock.now_ms()
    clock.advance(seconds=9)
    due.on_topic_state(topic.state(1_000))
    due.swept(began_ms, duration_ms=500, dropped=0)
    assert due.unsound


def test_after_a_pass_the_store_is_as_old_as_the_position_it_swept_below(
    topic: OfflineTopic, due: PartitionFollower, clock: FakeClock
) -> None:
    clock.advance(seconds=2)
    began_ms = clock.now_ms()
    clock.advance(seconds=1)
    due.swept(began_ms, duration_ms=900, dropped=1)
    checkpoint = decode_checkpoint(topic.store.checkpoint())
    assert checkpoint is not None
    assert checkpoint.caught_up_at_ms == began_ms


# -- quarantine ---------------------------------------------------------------------------------


def test_a_bad_record_leaves_the_last_good_row_and_is_listed(topic: OfflineTopic) -> None:
    follower = topic.live_follower([(b"a", b"1"), (b"a", b"!")])
    assert rows_of(topic) == {b"a": b"1"}
    assert bad_offsets(follower) == {b"a": 1}


@pytest.mark.parametrize("value", [b"good", None])
def test_the_next_good_write_or_tombstone_clears_it(
    topic: OfflineTopic, value: bytes | None
) -> None:
    follower = topic.live_follower([(b"a", b"!")])
    follower.accept(batch_of([(b"a", value)], first=1), gather=False)
    assert not follower.quarantine


def test_the_newest_of_several_bad_records_of_a_key_is_listed(topic: OfflineTopic) -> None:
    follower = topic.live_follower([(b"a", b"!1"), (b"a", b"!2")])
    follower.accept(batch_of([(b"a", b"!3"), (b"a", b"!4")], first=2), gather=False)
    assert bad_offsets(follower) == {b"a": 3}


def test_the_list_survives_a_restart(topic: OfflineTopic) -> None:
    topic.live_follower([(b"a", b"!"), (b"b", b"2")])
    again = topic.follower()
    again.begin(topic.state(2))
    assert bad_offsets(again) == {b"a": 0}


def test_the_list_has_a_limit_and_the_table_continues(topic: OfflineTopic) -> None:
    pairs = [(b"bad-%d" % n, b"!") for n in range(QUARANTINE_MAX + 10)]
    follower = topic.live_follower([*pairs, (b"good", b"1")])
    assert len(follower.quarantine) == QUARANTINE_MAX
    assert rows_of(topic) == {b"good": b"1"}


def test_a_sweep_keeps_the_last_good_row_of_a_quarantined_key(topic: OfflineTopic) -> None:
    follower = topic.live_follower([(b"a", b"1"), (b"a", b"!")])
    assert follower.drop([(b"a", 0)]) == []
    assert rows_of(topic) == {b"a": b"1"}


def test_a_sweep_drops_it_once_the_bad_record_is_gone_from_the_log_too(
    topic: OfflineTopic,
) -> None:
    follower = topic.live_follower([(b"a", b"1"), (b"a", b"!")])
    assert follower.drop([(b"a", 1)]) == [b"a"]
    assert rows_of(topic) == {}
    assert not follower.quarantine


def test_a_bad_record_that_is_gone_from_the_log_stays_off_the_list_after_a_restart(
    topic: OfflineTopic,
) -> None:
    topic.live_follower([(b"a", b"!")]).drop([(b"a", 0)])
    again = topic.follower()
    again.begin(topic.state(1))
    assert not again.quarantine


def test_a_good_row_newer_than_the_bad_record_a_pass_saw_is_kept(topic: OfflineTopic) -> None:
    follower = topic.live_follower([(b"a", b"!")])
    follower.accept(batch_of([(b"a", b"2")], first=1), gather=False)
    assert follower.drop([(b"a", 0)]) == []
    assert rows_of(topic) == {b"a": b"2"}
