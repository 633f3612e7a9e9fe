"""Whom the detector suspects, and who evicts."""

from __future__ import annotations

import pytest

from lastword.cluster.detector import (
    EVICTIONS_APART_S,
    SILENT_S,
    TURN_S,
    UNHEARD_S,
    Detector,
    Standing,
    watched_by,
)
from lastword.cluster.peers.peer import Health

TICK_S = 0.1


def leading(me: str = "a", members: str = "abc") -> Standing:
    return Standing(me, me, leads=True, members=list(members))


def following(me: str, leader: str = "c", members: str = "abcd") -> Standing:
    return Standing(me, leader, leads=False, members=list(members))


def watch(detector: Detector, health: dict[str, Health], seconds: float) -> set[str]:
    """Look every 100 ms for so long."""
    suspects: set[str] = set()
    for tick in range(round(seconds / TICK_S) + 1):
        suspects = detector.suspects(tick * TICK_S, health)
    return suspects


def test_a_member_that_answered_within_a_second_is_not_suspect() -> None:
    assert watch(Detector(), {"b": Health(refused=False, heard_at=0.0)}, SILENT_S - TICK_S) == set()


def test_a_member_that_is_silent_for_longer_is_suspect() -> None:
    silent = {"b": Health(refused=False, heard_at=0.0)}
    assert watch(Detector(), silent, SILENT_S + TICK_S) == {"b"}


def test_a_member_that_does_not_listen_is_suspect_at_once() -> None:
    assert watch(Detector(), {"b": Health(refused=True, heard_at=0.0)}, 0) == {"b"}


def test_after_a_stall_of_this_process_the_others_are_given_a_second() -> None:
    detector = Detector()
    silent = {"b": Health(refused=False, heard_at=0.0)}
    detector.suspects(0.0, silent)
    assert detector.suspects(30.0, silent) == set()
    looks = [detector.suspects(30.0 + tick * TICK_S, silent) for tick in range(1, 13)]
    assert looks[8] == set()
    assert looks[-1] == {"b"}


def test_a_member_that_stays_suspect_is_unheard_until_it_is_heard_again() -> None:
    detector = Detector()
    refusing = {"b": Health(refused=True, heard_at=0.0)}
    watch(detector, refusing, UNHEARD_S)
    assert detector.unheard(UNHEARD_S - TICK_S) == frozenset()
    assert detector.unheard(UNHEARD_S) == {"b"}
    detector.suspects(UNHEARD_S, {"b": Health(refused=False, heard_at=UNHEARD_S)})
    assert detector.unheard(UNHEARD_S * 2) == frozenset()


def test_the_leader_watches_everybody_else() -> None:
    assert watched_by(leading("b")) == {"a", "c"}


@pytest.mark.parametrize(("me", "watched"), [("a", "c"), ("b", "ac"), ("d", "abc")])
def test_the_others_watch_the_leader_and_those_before_them(me: str, watched: str) -> None:
    assert watched_by(following(me)) == set(watched)


def test_the_leader_evicts_every_suspect() -> None:
    assert Detector().to_evict(0.0, {"c", "b"}, leading()) == ["b", "c"]


def test_the_others_do_not_evict_each_other() -> None:
    assert Detector().to_evict(0.0, {"a", "b"}, following("d")) == []


def test_the_first_of_the_others_evicts_the_leader() -> None:
    assert Detector().to_evict(0.0, {"c"}, following("a")) == ["c"]


def test_a_later_one_leaves_it_to_the_first() -> None:
    assert Detector().to_evict(0.0, {"c"}, following("b")) == []


def test_a_later_one_evicts_the_leader_when_those_before_it_are_gone_too() -> None:
    assert Detector().to_evict(0.0, {"a", "c"}, following("b")) == ["c"]


def test_the_others_evict_a_deaf_leader_in_turns() -> None:
    assert Detector().to_evict(0.0, set(), following("a"), deaf={"c"}) == ["c"]
    second = Detector()
    assert second.to_evict(0.0, set(), following("b"), deaf={"c"}) == []
    assert second.to_evict(TURN_S - TICK_S, set(), following("b"), deaf={"c"}) == []
    assert second.to_evict(TURN_S, set(), following("b"), deaf={"c"}) == ["c"]


def test_a_leader_that_hears_again_is_not_evicted_when_the_turn_comes() -> None:
    second = Detector()
    second.to_evict(0.0, set(), following("b"), deaf={"c"})
    second.to_evict(TICK_S, set(), following("b"))
    assert second.to_evict(TURN_S, set(), following("b"), deaf={"c"}) == []


def test_the_leader_does_not_evict_a_deaf_member() -> None:
    assert Detector().to_evict(0.0, set(), leading(), deaf={"b"}) == []


def test_a_member_that_fails_again_and_again_is_evicted_less_and_less_often() -> None:
    detector, first_s, longest_s = Detector(), *EVICTIONS_APART_S
    now, pauses = 0.0, []
    for _ in range(5):
        detector.evicted(now, "b")
        began, now = now, now + first_s
        while not detector.to_evict(now, {"b"}, leading()):
            now += first_s
        pauses.append(now - began)
    assert pauses == [first_s, 2 * first_s, 4 * first_s, 8 * first_s, longest_s]


def test_a_member_that_was_well_for_long_is_evicted_again_soon_after_an_eviction() -> None:
    detector, first_s, longest_s = Detector(), *EVICTIONS_APART_S
    detector.evicted(0.0, "b")
    detector.evicted(first_s, "b")
    later = 3 * first_s + longest_s
    detector.evicted(later, "b")
    assert detector.to_evict(later + first_s - 0.1, {"b"}, leading()) == []
    assert detector.to_evict(later + first_s, {"b"}, leading()) == ["b"]


def test_the_pause_after_the_eviction_of_a_leader_does_not_grow() -> None:
    detector, first_s = Detector(), EVICTIONS_APART_S[0]
    for now in (0.0, first_s, 2 * first_s):
        assert detector.to_evict(now, {"c"}, following("a")) == ["c"]
        detector.evicted(now, "c", led=True)
        assert detector.to_evict(now + first_s - 0.1, {"c"}, following("a")) == []


def test_a_member_that_was_evicted_often_is_evicted_soon_once_it_leads() -> None:
    detector, first_s = Detector(), EVICTIONS_APART_S[0]
    for now in (0.0, first_s, 3 * first_s):  # by this instance while it led
        detector.evicted(now, "c")
    last = 3 * first_s
    assert detector.to_evict(last + first_s, {"c"}, leading()) == []
    assert detector.to_evict(last + first_s - 0.1, {"c"}, following("a")) == []
    assert detector.to_evict(last + first_s, {"c"}, following("a")) == ["c"]


def test_a_suspect_that_the_group_does_not_have_is_looked_for_again_after_a_second() -> None:
    detector = Detector()
    detector.not_found(0.0, "b")
    assert detector.to_evict(SILENT_S - 0.1, {"b"}, leading()) == []
    assert detector.to_evict(SILENT_S, {"b"}, leading()) == ["b"]


def test_no_member_evicts_itself() -> None:
    assert Detector().to_evict(0.0, {"a"}, leading()) == []
