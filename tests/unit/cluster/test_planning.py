"""Plans by arbitrary members, offers and histories."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cluster.plan import NO_OWNER, Plan, PlanMember
from lastword.cluster.planning import make_plan

NAMES = [f"i{number}" for number in range(8)]
TOPICS = {"carts": 7, "orders": 4, "users": 1}

everything = st.sets(st.sampled_from(NAMES), min_size=1).map(
    lambda names: {name: PlanMember(f"{name}:1", TOPICS) for name in names}
)
some = st.dictionaries(
    st.sampled_from(NAMES),
    st.sets(st.sampled_from(sorted(TOPICS))).map(
        lambda topics: PlanMember("host:1", {topic: TOPICS[topic] for topic in topics})
    ),
    max_size=8,
)


def plans(*histories: dict[str, PlanMember]) -> list[Plan]:
    """The plans of a life in which the members were these, one after the other."""
    made: list[Plan] = []
    for members in histories:
        made.append(make_plan(members, made[-1] if made else None, leader="i0"))
    return made


def loads(plan: Plan) -> Counter[str]:
    counted = Counter(dict.fromkeys(plan.members, 0))
    counted.update(owner for named in plan.owners.values() for owner in named)
    return counted


def moves(before: Plan, after: Plan) -> int:
    """Partitions taken from a member that is still there and still offers them."""
    return sum(
        old != new and old in after.members and topic in after.members[old].offers
        for topic, named in after.owners.items()
        for old, new in zip(before.owners.get(topic, ()), named, strict=False)
    )


def reachable(plan: Plan, source: str) -> set[str]:
    """The members to which a chain of moves leads from ``source``."""
    found, waiting = {source}, [source]
    while waiting:
        giver = waiting.pop()
        held = {topic for topic, named in plan.owners.items() if giver in named}
        for name, member in plan.members.items():
            if name not in found and held & member.offers.keys():
                found.add(name)
                waiting.append(name)
    return found


@given(st.lists(some, min_size=1, max_size=4))
def test_every_offered_partition_has_an_owner_that_offers_it(
    histories: list[dict[str, PlanMember]],
) -> None:
    plan = plans(*histories)[-1]
    offered = {topic for member in histories[-1].values() for topic in member.offers}
    assert plan.owners.keys() == offered
    for topic, named in plan.owners.items():
        assert len(named) == TOPICS[topic]
        assert all(topic in plan.members[owner].offers for owner in named)


@given(st.lists(everything, min_size=1, max_size=4))
def test_loads_differ_by_one_at_most_when_everybody_offers_everything(
    histories: list[dict[str, PlanMember]],
) -> None:
    load = loads(plans(*histories)[-1])
    assert max(load.values()) - min(load.values()) <= 1


@given(st.lists(some, min_size=1, max_size=4))
def test_no_chain_of_moves_makes_the_loads_more_equal(
    histories: list[dict[str, PlanMember]],
) -> None:
    plan = plans(*histories)[-1]
    load = loads(plan)
    for source in plan.members:
        assert load[source] - min(load[name] for name in reachable(plan, source)) <= 1


@given(st.lists(some, min_size=1, max_size=4))
def test_nothing_moves_while_nothing_changes(histories: list[dict[str, PlanMember]]) -> None:
    last, again = plans(*histories, histories[-1])[-2:]
    assert again.owners == last.owners
    assert again.says_the_same_as(last)
    assert again.number == last.number + 1


@given(everything, everything)
def test_only_what_the_balance_demands_is_moved(
    first: dict[str, PlanMember], second: dict[str, PlanMember]
) -> None:
    before, after = plans(first, second)
    kept = Counter({name: load for name, load in loads(before).items() if name in second})
    total, members = sum(TOPICS.values()), len(second)
    share, larger = divmod(total, members)
    # The members with most keep the larger shares; what is above a share has to go.
    ranked = sorted((kept[name] for name in second), reverse=True)
    targets = [share + (rank < larger) for rank in range(members)]
    assert moves(before, after) == sum(
        max(0, load - target) for load, target in zip(ranked, targets, strict=True)
    )


@given(st.lists(some, min_size=2, max_size=4))
def test_no_moved_partition_could_go_back_without_harm(
    histories: list[dict[str, PlanMember]],
) -> None:
    before, after = plans(*histories)[-2:]
    load = loads(after)
    for topic, named in after.owners.items():
        for old, new in zip(before.owners.get(topic, ()), named, strict=False):
            if old != new and old in after.members and topic in after.members[old].offers:
                assert load[old] >= load[new]


@given(st.lists(some, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_equal_arguments_in_another_order_give_an_equal_plan(
    histories: list[dict[str, PlanMember]], random: Any
) -> None:
    def shuffled(members: dict[str, PlanMember]) -> dict[str, PlanMember]:
        names = random.sample(sorted(members), len(members))
        return {
            name: PlanMember(
                members[name].address, dict(reversed(list(members[name].offers.items())))
            )
            for name in names
        }

    assert plans(*histories) == plans(*map(shuffled, histories))


@pytest.mark.parametrize(
    ("first", "second", "moved"),
    [
        # A first move of x becomes idle when the others have taken y.
        ({"a": "xy"}, {"a": "x", "b": "xy", "c": "y", "d": "y"}, 1),
        # What has lost its owner moves again before anything that is at home.
        ({"a": "x", "b": "xy", "c": "xy"}, {"a": "xy", "c": "x"}, 0),
    ],
)
def test_members_that_offer_different_topics_give_up_no_more_than_they_must(
    first: dict[str, str], second: dict[str, str], moved: int
) -> None:
    sizes = {"x": 3, "y": 2}

    def members(offers: dict[str, str]) -> dict[str, PlanMember]:
        return {
            name: PlanMember("h:1", {topic: sizes[topic] for topic in topics})
            for name, topics in offers.items()
        }

    assert moves(*plans(members(first), members(second))) == moved


def test_a_newcomer_gets_its_share_and_nothing_else_moves() -> None:
    three = {name: PlanMember(f"{name}:1", {"carts": 12}) for name in "abc"}
    before, after = plans(three, three | {"d": PlanMember("d:1", {"carts": 12})})
    assert loads(after) == {"a": 3, "b": 3, "c": 3, "d": 3}
    assert moves(before, after) == 3


def test_the_partitions_of_a_lost_member_are_spread_and_nothing_else_moves() -> None:
    three = {name: PlanMember(f"{name}:1", {"carts": 12}) for name in "abc"}
    before, after = plans(three, {name: three[name] for name in "ab"})
    assert loads(after) == {"a": 6, "b": 6}
    assert moves(before, after) == 0


def test_a_member_that_is_nearer_to_the_end_comes_first_among_equals() -> None:
    two = {name: PlanMember(f"{name}:1", {"carts": 1}) for name in "ab"}
    lags = {"a": {"carts": {0: 500}}, "b": {"carts": {0: 2}}}
    assert make_plan(two, None, leader="a", lags=lags).owners == {"carts": ["b"]}


def test_without_members_no_partition_has_an_owner() -> None:
    plan = make_plan({}, None, leader="")
    assert plan.owners == {}
    assert plan.owner("carts", 0) is None


def test_a_topic_without_offers_leaves_the_plan() -> None:
    before, after = plans(
        {"a": PlanMember("a:1", {"carts": 2, "users": 1})}, {"a": PlanMember("a:1", {"carts": 2})}
    )
    assert "users" in before.owners
    assert after.owners == {"carts": ["a", "a"]}
    assert NO_OWNER not in after.owners["carts"]


def test_a_hundred_members_and_a_thousand_partitions_are_planned_with_little_work() -> None:
    offers = {f"topic-{number}": 100 for number in range(10)}
    members = {f"m{number:03}": PlanMember("h:1", offers) for number in range(100)}
    first = make_plan(members, None, leader="m000")

    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    fewer = {name: member for name, member in members.items() if name > "m009"}
    sys.setprofile(count)
    try:
        without_ten = make_plan(fewer, first, leader="m099")
        make_plan(members, without_ten, leader="m099")
        make_plan(members, None, leader="m099")
    finally:
        sys.setprofile(None)
    assert calls < 1_500_000


def test_a_guest_owns_only_topics_without_another_offer() -> None:
    guest = PlanMember("guest:1", {"carts": 7, "users": 1}, guest=True)
    alone, joined, left = plans(
        {"guest": guest},
        {"guest": guest, "i1": PlanMember("i1:1", {"carts": 7})},
        {"guest": guest},
    )
    assert set(alone.owners["carts"]) == {"guest"}
    assert set(joined.owners["carts"]) == {"i1"}
    assert joined.owners["users"] == ["guest"]
    assert left.owners == alone.owners


def test_a_guest_that_comes_and_goes_moves_nothing() -> None:
    stay = {name: PlanMember(f"{name}:1", TOPICS) for name in ("i1", "i2")}
    before, during, after = plans(
        stay, stay | {"guest": PlanMember("guest:1", TOPICS, guest=True)}, stay
    )
    assert before.owners == during.owners == after.owners
