"""Telling a log that ends in a gap from one that an open transaction blocks.

Apache Kafka never cleans the last offset of a log away, so no broker in these tests can show
the gap; other brokers do.
"""

from __future__ import annotations

import pytest

from lastword.replicas.topic.blocked_ends import TAIL_GAP_STATES, BlockedEnds
from tests.support.local_tables.offline_topic import OfflineTopic

TARGETS = {0: 10}


@pytest.fixture
def blocked() -> BlockedEnds:
    """Partition 0, where the log was read up to 8 of 10."""
    blocked = BlockedEnds()
    blocked.add(0, at_ms=0)
    return blocked


def suspected(blocked: BlockedEnds, topic: OfflineTopic, times: int) -> list[int]:
    """What each of that many looks, with an idle reader before it, wants to be read again."""
    found: list[int] = []
    for _ in range(times):
        blocked.on_idle()
        found += blocked.suspects(topic.state(10), TARGETS)
    return found


def read_again(blocked: BlockedEnds, topic: OfflineTopic) -> None:
    """The reader was assigned again and came to the end of the log once more."""
    assert suspected(blocked, topic, TAIL_GAP_STATES) == [0]
    topic.clock.advance(seconds=1)
    blocked.add(0, topic.clock.now_ms())


def test_a_reader_is_assigned_again_only_after_several_looks(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    assert suspected(blocked, topic, TAIL_GAP_STATES - 1) == []
    assert suspected(blocked, topic, 1) == [0]
    assert suspected(blocked, topic, 2 * TAIL_GAP_STATES) == []


def test_a_reader_that_is_merely_stuck_proves_no_gap(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    for _ in range(10 * TAIL_GAP_STATES):
        suspected(blocked, topic, 1)
        assert blocked.tail_gaps(topic.state(10), TARGETS) == []
    assert 0 in blocked


def test_a_fresh_end_and_a_look_after_it_prove_a_gap(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    before = topic.state(10)
    read_again(blocked, topic)
    assert blocked.tail_gaps(before, TARGETS) == []
    assert blocked.tail_gaps(topic.state(10), TARGETS) == [0]
    assert 0 not in blocked


def test_a_new_leader_is_asked_again(blocked: BlockedEnds, topic: OfflineTopic) -> None:
    read_again(blocked, topic)
    assert blocked.tail_gaps(topic.state(10, leader_epochs={0: 7}), TARGETS) == []
    read_again(blocked, topic)
    assert blocked.tail_gaps(topic.state(10), TARGETS) == [0]


def test_a_leader_that_does_not_answer_proves_no_gap(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    read_again(blocked, topic)
    assert blocked.tail_gaps(topic.state(10, unanswered=frozenset({0})), TARGETS) == []
    assert blocked.tail_gaps(topic.state(10, unanswered=frozenset()), TARGETS) == [0]


def test_an_open_transaction_is_waited_for_until_it_ends(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    for _ in range(10 * TAIL_GAP_STATES):
        blocked.on_idle()
        assert list(blocked.suspects(topic.state(10, stable_ends={0: 8}), TARGETS)) == []
    assert 0 in blocked


def test_counting_starts_again_when_a_transaction_was_seen_in_between(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    suspected(blocked, topic, TAIL_GAP_STATES - 1)
    assert list(blocked.suspects(topic.state(10, stable_ends={0: 8}), TARGETS)) == []
    assert suspected(blocked, topic, TAIL_GAP_STATES - 1) == []


def test_something_that_arrives_ends_the_waiting(blocked: BlockedEnds, topic: OfflineTopic) -> None:
    suspected(blocked, topic, TAIL_GAP_STATES - 1)
    blocked.discard(0)
    assert suspected(blocked, topic, TAIL_GAP_STATES) == []


def test_looks_that_piled_up_while_nothing_was_read_count_once(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    blocked.on_idle()
    for _ in range(5 * TAIL_GAP_STATES):
        assert list(blocked.suspects(topic.state(10), TARGETS)) == []
    assert 0 in blocked
