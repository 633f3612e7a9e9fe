"""How far back a setting protects a log: only for as long as it was seen to be in force."""

from __future__ import annotations

from dataclasses import replace

from lastword.replicas.topic.protection import ObservedProtection, ProtectionLog
from lastword.snapshots.travel.log_completeness import protection
from tests.unit.snapshots.test_snapshot_planning import FACTS

NOW_MS = 10_000
NOW = ObservedProtection(NOW_MS, NOW_MS, {0: 9}, 1000)


def look(at_ms: int, lag_ms: int) -> ObservedProtection:
    return ObservedProtection(at_ms, at_ms, {0: at_ms // 1000}, lag_ms)


def test_the_setting_of_now_alone_protects_nothing() -> None:
    found = protection([NOW])
    assert (found.start, found.since_ms, found.from_ms) == (NOW, None, NOW_MS)


def test_a_setting_protects_since_it_was_first_seen_but_not_longer_than_it_is() -> None:
    young = look(9500, 1000)
    assert (protection([young, NOW]).start, protection([young, NOW]).from_ms) == (young, 9500)
    old = look(2000, 1000)
    # 1000 ms before now, and a tenth of that as a margin.
    assert (protection([old, NOW]).start, protection([old, NOW]).from_ms) == (old, 9100)


def test_a_setting_that_was_raised_counts_from_the_look_that_found_it_raised() -> None:
    unprotected, raised = look(9000, 0), look(9700, 1000)
    assert protection([unprotected, raised, NOW]).start == raised
    smaller = look(9600, 100)
    # Between 9600 and 9700 the smaller one may have been in force up to the end.
    assert protection([smaller, raised, NOW]).from_ms == 9610
    assert protection([smaller, raised, NOW]).start == smaller


def test_a_setting_that_was_lowered_for_a_while_breaks_the_chain() -> None:
    found = protection([look(8000, 5000), look(8500, 0), look(9900, 5000), NOW])
    assert (found.start.at_ms, found.from_ms) == (9900, 9900)


def test_a_process_keeps_two_looks_of_a_long_time_and_none_of_another_topic() -> None:
    observed = ProtectionLog()
    for at_ms, lag_ms in ((1, 5), (2, 5), (3, 5), (4, 0), (5, 5), (6, 5), (7, 5)):
        observed.record(replace(FACTS, at_ms=at_ms, compaction_lag_ms=lag_ms), at_ms)
    assert [(each.at_ms, each.compaction_lag_ms) for each in observed.of(FACTS)] == [
        (1, 5),
        (3, 5),
        (4, 0),
        (5, 5),
        (7, 5),
    ]
    assert observed.of(replace(FACTS, topic_id="another")) == ()
    # A new leader may have another log.
    later = replace(FACTS, at_ms=8, compaction_lag_ms=5, leader_epochs={0: 1})
    assert observed.of(later) == ()
    observed.record(later, 8)
    assert [each.at_ms for each in observed.of(later)] == [8]
