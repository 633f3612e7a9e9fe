"""When a partition that sends nothing is assigned again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastword.kafka.log.source import Unreadable
from lastword.replicas.topic.stuck_reads import STUCK_STATES, STUCK_STATES_MAX
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.tail_lab import TailLab


class CountingLab(TailLab):
    """Partition 0 of a live table, which has read its log up to offset 2."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, [0, 1])
        self.assignments = 0
        assign = self.reader.assign

        def count(partition: int, offset: int, leader_epoch: int = -1) -> None:
            self.assignments += 1
            assign(partition, offset, leader_epoch)

        self.begin({0: 2, 1: 0})
        self.feed(0, [(b"a", b"1"), (b"b", b"1")])
        self.reader.assign = count  # type: ignore[method-assign]

    def states(self, times: int, *, end: int = 3, **changes: object) -> int:
        """That many topic states, with a poll before each; returns the new assignments."""
        before = self.assignments
        for _ in range(times):
            self.run_once()
            self.observe({0: end}, **changes)
        return self.assignments - before


@pytest.fixture
def lab(clock: FakeClock) -> CountingLab:
    return CountingLab(clock)


def test_a_partition_that_stands_still_is_assigned_again_where_it_was(lab: CountingLab) -> None:
    assert lab.states(STUCK_STATES - 1) == 0
    assert lab.states(1) == 1
    assert lab.reader.assigned[0] == 2


def test_each_attempt_without_effect_doubles_the_wait(lab: CountingLab) -> None:
    assert lab.states(STUCK_STATES) == 1
    assert lab.states(2 * STUCK_STATES - 1) == 0
    assert lab.states(1) == 1
    lab.states(10 * STUCK_STATES_MAX)
    assert lab.states(10 * STUCK_STATES_MAX) == 10


def test_a_record_starts_the_count_over(lab: CountingLab) -> None:
    assert lab.states(STUCK_STATES - 1, end=4) == 0
    lab.feed(0, [(b"c", b"1")], first=2)
    assert lab.states(STUCK_STATES - 1, end=4) == 0
    assert lab.states(1, end=4) == 1


def test_a_partition_at_its_end_is_left_alone(lab: CountingLab) -> None:
    assert lab.states(10 * STUCK_STATES, end=2) == 0


def test_an_open_transaction_is_no_reason(lab: CountingLab) -> None:
    stable = lab.state({0: 2}).stable_ends
    for _ in range(10 * STUCK_STATES):
        lab.run_once()
        blocked = replace(lab.state({0: 3}), stable_ends=stable)
        lab.reaction.on_topic_state(blocked, topic_gone=False)
    assert lab.assignments == 0


def test_a_silent_leader_is_no_reason(lab: CountingLab) -> None:
    assert lab.states(10 * STUCK_STATES, unanswered=frozenset({0})) == 0


def test_a_corrupt_batch_is_no_reason(lab: CountingLab) -> None:
    lab.reader.news.append(Unreadable(0, 2, "checksum"))
    assert lab.states(10 * STUCK_STATES) == 0


def test_states_that_pile_up_without_a_poll_count_once(lab: CountingLab) -> None:
    lab.run_once()
    for _ in range(10 * STUCK_STATES):
        lab.observe({0: 3})
    assert lab.assignments == 0


def test_other_partitions_that_send_do_not_hide_it(lab: CountingLab) -> None:
    for offset in range(STUCK_STATES):
        lab.feed(1, [(b"x", b"%d" % offset)], first=offset)
        lab.observe({0: 3})
    assert lab.assignments == 1
