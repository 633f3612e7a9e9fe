"""One partition's life with a clock that a test moves: begin, restore, live, lag, sweep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastword.errors import PartitionCountError
from lastword.replicas.apply.checkpoint import Checkpoint, decode_checkpoint
from lastword.rows import decode_row
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import DAY_MS, OfflineTopic, batch_of

HOUR_S = 3600.0


def checkpoint_of(topic: OfflineTopic) -> Checkpoint:
    checkpoint = decode_checkpoint(topic.store.checkpoint())
    assert checkpoint is not None
    return checkpoint


def rows_of(topic: OfflineTopic) -> dict[bytes, bytes]:
    return {key: decode_row(row).value for key, row in topic.store.scan()}


# -- where a follower begins ----------------------------------------------------------------


def test_a_new_store_starts_at_the_beginning_of_the_log(topic: OfflineTopic) -> None:
    start = topic.follower().begin(topic.state(10, starts={0: 3}))
    assert (start.offset, start.leader_epoch, start.from_scratch) == (3, -1, True)


def test_a_checkpoint_is_gone_on_from_with_its_leader_epoch(topic: OfflineTopic) -> None:
    follower = topic.follower()
    follower.begin(topic.state(2))
    follower.accept(batch_of([(b"a", b"1"), (b"b", b"2")], leader_epoch=7), gather=False)
    start = topic.follower().begin(topic.state(5))
    assert (start.offset, start.leader_epoch, start.from_scratch) == (2, 7, False)


def test_the_checkpoint_holds_everything_that_says_which_log_it_is_of(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    began_ms = clock.now_ms()
    follower = topic.follower()
    follower.begin(topic.state(1, delete_retention_ms=5_000))
    follower.accept(batch_of([(b"a", b"1")], leader_epoch=3), gather=False)
    assert checkpoint_of(topic) == Checkpoint(
        cluster_id="cluster-a",
        topic_id="topic-a",
        partitions=1,
        next_offset=1,
        leader_epoch=3,
        caught_up_at_ms=began_ms,
        delete_retention_ms=5_000,
        quarantined=(),
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cluster_id": "cluster-b"}, "another cluster"),
        ({"topic_id": "topic-b"}, "created again"),
        ({"starts": {0: 3}}, "starts at 3"),
        ({"ends": {0: 1}, "stable_ends": {0: 1}}, "ends at 1"),
    ],
)
def test_another_log_than_the_checkpoint_is_of_means_rebuild(
    topic: OfflineTopic, changes: dict[str, object], reason: str
) -> None:
    topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    start = topic.follower().begin(replace(topic.state(9), **changes))
    assert start.from_scratch
    assert reason in start.reason
    assert topic.store.count() == 0


def test_a_checkpoint_at_the_very_end_or_the_very_start_of_the_log_is_in_range(
    topic: OfflineTopic,
) -> None:
    topic.live_follower([(b"a", b"1"), (b"b", b"2")])
    assert not topic.follower().begin(topic.state(2)).from_scratch
    assert not topic.follower().begin(topic.state(2, starts={0: 2})).from_scratch


def test_a_checkpoint_of_an_unknown_format_means_rebuild(topic: OfflineTopic) -> None:
    topic.store.apply({b"a": b"?"}, (), b"\x93written by the future")
    start = topic.follower().begin(topic.state(9))
    assert start.from_scratch
    assert "another version" in start.reason
    assert topic.store.count() == 0


def test_another_partition_count_is_refused_and_the_store_unchanged(topic: OfflineTopic) -> None:
    topic.live_follower([(b"a", b"1")])
    with pytest.raises(PartitionCountError, match="2 partitions"):
        topic.follower().begin(topic.state(1, partitions=2))
    assert rows_of(topic) == {b"a": b"1"}


# -- restoring --------------------------------------------------------------------------------


def test_an_empty_partition_is_finished_before_anything_is_read(topic: OfflineTopic) -> None:
    follower = topic.follower()
    follower.begin(topic.state(0))
    assert follower.offsets.finished


def test_a_log_whose_records_have_all_expired_is_finished_too(topic: OfflineTopic) -> None:
    follower = topic.follower()
    follower.begin(topic.state(7, starts={0: 7}))
    assert follower.offsets.finished


def test_the_end_is_captured_once_while_the_log_grows(
    topic: OfflineTopic,
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(2))
    follower.on_topic_state(topic.state(1_000))
    follower.accept(batch_of([(b"a", b"1"), (b"b", b"2")]), gather=False)
    assert follower.offsets.finished


def test_an_end_of_log_event_finishes_what_ends_in_a_transaction_marker(
    topic: OfflineTopic,
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(3))
    follower.accept(batch_of([(b"a", b"1"), (b"b", b"2")]), gather=False)
    assert not follower.offsets.finished
    follower.advance(3)
    assert follower.offsets.finished
    assert follower.position == 3


def test_a_log_that_ends_in_a_gap_is_finished_without_claiming_to_have_read_it(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(4))
    follower.accept(batch_of([(b"a", b"1"), (b"b", b"2")]), gather=False)
    follower.offsets.end_in_gap()
    assert follower.offsets.finished
    follower.go_live()
    assert checkpoint_of(topic).next_offset == 2
    clock.advance(seconds=HOUR_S)
    follower.on_topic_state(topic.state(4))
    follower.refresh_checkpoint()
    assert checkpoint_of(topic).caught_up_at_ms == clock.now_ms()


def test_a_log_that_loses_its_tail_during_the_restore_is_not_waited_for(
    topic: OfflineTopic,
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(10))
    follower.accept(batch_of([(b"a", b"1"), (b"b", b"2")]), gather=False)
    follower.on_topic_state(topic.state(2))
    assert follower.offsets.finished


def test_gathered_rows_become_visible_with_their_checkpoint_in_one_step(
    topic: OfflineTopic,
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(4))
    follower.accept(batch_of([(b"a", b"1"), (b"b", b"2")]), gather=True)
    follower.accept(batch_of([(b"a", None), (b"c", b"3")], first=2), gather=True)
    assert (follower.position, follower.offsets.next_offset) == (0, 4)
    assert rows_of(topic) == {}
    assert topic.store.checkpoint() is None
    follower.commit()
    assert follower.position == 4
    assert rows_of(topic) == {b"b": b"2", b"c": b"3"}
    assert checkpoint_of(topic).next_offset == 4


def test_a_key_deleted_and_written_again_while_gathering_is_there(topic: OfflineTopic) -> None:
    topic.live_follower([(b"a", b"0")])
    follower = topic.follower()
    follower.begin(topic.state(3))
    follower.accept(batch_of([(b"a", None)], first=1), gather=True)
    follower.accept(batch_of([(b"a", b"2")], first=2), gather=True)
    follower.go_live()
    assert rows_of(topic) == {b"a": b"2"}


def test_an_end_of_log_while_gathering_shows_nothing_early(topic: OfflineTopic) -> None:
    follower = topic.follower()
    follower.begin(topic.state(3))
    follower.accept(batch_of([(b"a", b"1")]), gather=True)
    follower.advance(3)
    assert follower.position == 0
    follower.go_live()
    assert follower.position == 3


# -- deletes that may have been missed --------------------------------------------------------


def test_a_first_restore_within_the_retention_is_sound(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(0))
    clock.advance(seconds=23 * HOUR_S)
    follower.go_live()
    assert not follower.unsound


def test_a_first_restore_slower_than_the_retention_must_be_swept(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.follower()
    follower.begin(topic.state(0))
    clock.advance(seconds=24 * HOUR_S)
    follower.go_live()
    assert follower.sweep_due
    assert follower.unsound


def test_a_store_that_was_away_longer_than_the_retention_must_be_swept(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    topic.live_follower([(b"a", b"1")])
    clock.advance(seconds=24 * HOUR_S)
    follower = topic.follower()
    follower.begin(topic.state(1))
    follower.go_live()
    assert follower.sweep_due


def test_the_smallest_retention_seen_counts_even_if_it_was_raised_meanwhile(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    topic.state(delete_retention_ms=60_000)
    topic.live_follower([(b"a", b"1")])
    clock.advance(seconds=HOUR_S)
    follower = topic.follower()
    follower.begin(topic.state(1, delete_retention_ms=DAY_MS))
    follower.go_live()
    assert follower.sweep_due


def test_a_retention_that_was_lowered_meanwhile_counts_too(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    topic.live_follower([(b"a", b"1")])
    clock.advance(seconds=HOUR_S)
    follower = topic.follower()
    follower.begin(topic.state(1, delete_retention_ms=60_000))
    follower.go_live()
    assert follower.sweep_due


def test_a_wall_clock_that_was_set_back_makes_a_store_suspect(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    topic.live_follower([(b"a", b"1")])
    clock.set_back(seconds=HOUR_S)
    follower = topic.follower()
    follower.begin(topic.state(1))
    follower.go_live()
    assert follower.sweep_due


def test_going_live_proves_only_what_was_there_when_the_end_was_captured(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    captured_ms = clock.now_ms()
    follower = topic.follower()
    follower.begin(topic.state(1, delete_retention_ms=100_000))
    clock.advance(seconds=80)
    follower.accept(batch_of([(b"a", b"1")]), gather=False)
    follower.go_live()
    assert not follower.sweep_due
    # A tombstone written right after the capture may be cleaned away 100 s after it, no later.
    assert checkpoint_of(topic).caught_up_at_ms == captured_ms
    clock.advance(seconds=85)
    again = topic.follower()
    again.begin(topic.state(2))
    again.go_live()
    assert again.sweep_due


def test_a_live_store_that_falls_behind_for_too_long_must_be_swept(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.live_follower([(b"a", b"1")])
    for _ in range(24):
        clock.advance(seconds=HOUR_S)
        follower.check_lag()
        follower.on_topic_state(topic.state(1_000))
    assert follower.sweep_due


def test_a_live_store_without_an_answering_broker_falls_behind_too(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.live_follower([(b"a", b"1")])
    clock.advance(seconds=24 * HOUR_S)
    follower.check_lag()
    assert follower.sweep_due


def test_a_live_store_that_is_seen_at_the_end_stays_sound_for_ever(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.live_follower([(b"a", b"1")])
    for _ in range(100):
        clock.advance(seconds=HOUR_S)
        follower.check_lag()
        follower.on_topic_state(topic.state(1))
    assert not follower.unsound


def test_an_idle_store_keeps_the_time_in_its_checkpoint_young(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    follower = topic.live_follower([(b"a", b"1")])
    clock.advance(seconds=100 * HOUR_S)
    follower.on_topic_state(topic.state(1))
    follower.refresh_checkpoint()
    clock.advance(seconds=HOUR_S)
    again = topic.follower()
    again.begin(topic.state(1))
    again.go_live()
    assert not again.sweep_due


def test_the_time_in_the_checkpoint_does_not_advance_while_a_sweep_is_due(
    topic: OfflineTopic, clock: FakeClock
) -> None:
    sound_ms = clock.now_ms()
    follower = topic.live_follower([(b"a", b"1")])
    clock.advance(seconds=24 * HOUR_S)
    follower.check_lag()
    follower.on_topic_state(topic.state(1))
    follower.refresh_checkpoint()
    assert checkpoint_of(topic).caught_up_at_ms == sound_ms
