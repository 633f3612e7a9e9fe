"""Telling a log that ends in a gap from one that an open transaction blocks.

Apache Kafka never cleans the last offset of a log away, so no broker in these tests can show
the gap; other brokers do.
"""

from __future__ import annotations

import pytest

from lastword.follow.blocked import TAIL_GAP_LOOKS, BlockedEnds
from tests.support.offline_topic import OfflineTopic


@pytest.fixture
def blocked() -> BlockedEnds:
    """Partition 0, where the log was read up to 8 of 10."""
    blocked = BlockedEnds()
    blocked.add(0)
    return blocked


def looks(blocked: BlockedEnds, topic: OfflineTopic, times: int) -> list[int]:
    """What each of that many looks, with an idle reader before it, declares a gap."""
    found: list[int] = []
    for _ in range(times):
        blocked.note_idle()
        found += blocked.tail_gaps(topic.look(10), {0: 10})
    return found


def test_a_gap_is_declared_only_after_several_looks(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    assert looks(blocked, topic, TAIL_GAP_LOOKS - 1) == []
    assert 0 in blocked
    assert looks(blocked, topic, 1) == [0]
    assert 0 not in blocked


def test_an_open_transaction_is_waited_for_however_long_it_takes(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    for _ in range(10 * TAIL_GAP_LOOKS):
        blocked.note_idle()
        assert list(blocked.tail_gaps(topic.look(10, stable_ends={0: 8}), {0: 10})) == []
    assert 0 in blocked


def test_counting_starts_again_when_a_transaction_was_seen_in_between(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    looks(blocked, topic, TAIL_GAP_LOOKS - 1)
    assert list(blocked.tail_gaps(topic.look(10, stable_ends={0: 8}), {0: 10})) == []
    assert looks(blocked, topic, TAIL_GAP_LOOKS - 1) == []


def test_something_that_arrives_ends_the_waiting(blocked: BlockedEnds, topic: OfflineTopic) -> None:
    looks(blocked, topic, TAIL_GAP_LOOKS - 1)
    blocked.discard(0)
    assert looks(blocked, topic, TAIL_GAP_LOOKS) == []


def test_looks_that_piled_up_while_nothing_was_read_count_once(
    blocked: BlockedEnds, topic: OfflineTopic
) -> None:
    blocked.note_idle()
    for _ in range(5 * TAIL_GAP_LOOKS):
        assert list(blocked.tail_gaps(topic.look(10), {0: 10})) == []
    assert 0 in blocked
