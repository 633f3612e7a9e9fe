"""The partitions of a restarting member, lent to their standbys and given back."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from lastword.cluster.movements import Movements
from lastword.cluster.plan import Lags, Plan, PlanMember, decode_plan, encode_plan
from lastword.cluster.planning import make_plan

TOPIC, PARTITIONS = "carts", 6
SOON_MS = 1_000
Members = dict[str, PlanMember]


def member(name: str, **changes: Any) -> PlanMember:
    return PlanMember(f"{name}:1", {TOPIC: PARTITIONS}, standbys={TOPIC: 1}, **changes)


def planned(members: Members, previous: Plan | None, missing: str = "") -> Plan:
    """The next plan, at a moment at which everybody but ``missing`` is near the end."""
    lags: dict[str, dict[str, dict[int, int]]] = {}
    for partition in range(PARTITIONS if previous is not None else 0):
        assert previous is not None
        for copy in previous.copies(TOPIC, partition):
            if copy.instance_id != missing:
                lags.setdefault(copy.instance_id, {TOPIC: {}})[TOPIC][partition] = 0
    known: Lags = lags
    return make_plan(members, previous, leader="b", lags=known)


def settled(members: Members, previous: Plan | None = None, missing: str = "") -> Plan:
    plan = planned(members, previous, missing)
    for _ in range(100):
        following = planned(members, plan, missing)
        if following.says_the_same_as(plan):
            return plan
        plan = following
    raise AssertionError("no rest")


def everybody(names: str = "abc", **changes: Any) -> Members:
    return {name: member(name, **changes) for name in names}


def with_a_away(members: Members) -> Members:
    return members | {"a": msgspec.structs.replace(members["a"], away_until_ms=SOON_MS)}


def owned(plan: Plan, name: str) -> set[int]:
    return {partition for _, partition in plan.owned_by(name)}


def copies(plan: Plan) -> list[set[str]]:
    return [{copy.instance_id for copy in plan.copies(TOPIC, p)} for p in range(PARTITIONS)]


def test_a_member_that_does_not_lend_keeps_its_partitions() -> None:
    before = settled(everybody())
    during = settled(with_a_away(everybody()), before, missing="a")
    assert during.owners == before.owners
    assert during.lent == {}


@settings(max_examples=25)
@given(st.sampled_from(["ab", "abc", "abcde"]))
def test_a_lending_member_gets_exactly_its_partitions_back(names: str) -> None:
    members = everybody(names, lends=True)
    before = settled(members)
    during = settled(with_a_away(members), before, missing="a")
    assert not owned(during, "a")
    assert copies(during) == copies(before), "no copy is built for a restart"
    moved = {p for p in range(PARTITIONS) if during.owners[TOPIC][p] != before.owners[TOPIC][p]}
    assert moved == owned(before, "a")
    assert all(during.owners[TOPIC][p] in before.standbys_of(TOPIC, p) for p in moved)
    assert decode_plan(encode_plan(during)) == during
    back = settled(members, during)
    assert (back.owners, back.standbys, back.lent) == (before.owners, before.standbys, {})


def test_a_member_that_is_back_gets_a_partition_once_it_has_caught_up() -> None:
    members = everybody(lends=True)
    before = settled(members)
    during = settled(with_a_away(members), before, missing="a")
    restoring = settled(members, during, missing="a")
    assert restoring.owners == during.owners
    assert settled(members, restoring).owners == before.owners


def test_a_standby_that_has_not_caught_up_borrows_nothing() -> None:
    members = everybody("ab", lends=True)
    before = settled(members)
    during = planned(with_a_away(members), before, missing="b")
    assert during.owners == before.owners


def test_what_a_member_lent_stays_with_its_standbys_if_it_does_not_return() -> None:
    members = everybody(lends=True)
    during = settled(with_a_away(members), settled(members), missing="a")
    gone = planned({name: each for name, each in members.items() if name != "a"}, during)
    assert gone.owners == during.owners
    assert gone.lent == {}


def test_a_borrower_that_is_lost_is_replaced_or_the_partition_waits_again() -> None:
    members = everybody(lends=True)
    before = settled(members)
    during = settled(with_a_away(members), before, missing="a")
    left = {name: each for name, each in with_a_away(members).items() if name != "b"}
    after = planned(left, during, missing="a")
    for partition in owned(before, "a"):
        expected = "c" if "c" in before.standbys_of(TOPIC, partition) else "a"
        assert after.owners[TOPIC][partition] == expected


def test_the_causes_say_that_partitions_were_lent_and_returned() -> None:
    members = everybody(lends=True)
    movements = Movements()
    plan = settled(members)
    movements.take(plan, 0)
    for now, missing in ((with_a_away(members), "a"), (members, "")):
        plan = planned(now, plan, missing)
        movements.take(plan, 0)
    assert {each.cause for each in movements.last[:2]} == {"returned"}
    assert {each.cause for each in movements.last[2:]} == {"restarting"}
    assert len(movements.last) == 4
