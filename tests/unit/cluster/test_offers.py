"""What whoever offers a topic is told of a plan."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lastword.cluster.leadership import Report, describe_members
from lastword.cluster.offers import Offers
from lastword.cluster.plan import Assignment, Plan, PlanMember

MEMBERS = {"a": PlanMember("h:1", {"carts": 2}), "b": PlanMember("h:2", {"carts": 2})}
NOW_MS = 1_000_000
PLAN = Plan(3, "a", MEMBERS, {"carts": ["a", "b"]})


class Told(list[dict[int, bool]]):
    """Which partitions are here, plan by plan."""

    def __call__(self, assignments: Mapping[int, Assignment]) -> None:
        self.append({partition: each.owner.here for partition, each in assignments.items()})


def offers(address: str = "h:1") -> Offers:
    made = Offers("a")
    made.address = address
    return made


def test_a_plan_says_which_partitions_are_here() -> None:
    here, told = offers(), Told()
    here.add("carts", 2, told, dict)
    here.take(PLAN)
    assert told == [{0: True, 1: False}]


def test_a_late_offer_gets_the_known_plan() -> None:
    here, told = offers(), Told()
    here.take(PLAN)
    here.add("carts", 2, told, dict)
    assert told == [{0: True, 1: False}]


def test_an_earlier_life_at_another_address_is_not_here() -> None:
    here, told = offers("h:9"), Told()
    here.add("carts", 2, told, dict)
    here.take(PLAN)
    assert told == [{0: False, 1: False}]


def test_a_withdrawn_offer_gets_no_plan() -> None:
    here, told = offers(), Told()
    here.add("carts", 2, told, dict)
    here.withdraw("carts")
    here.take(PLAN)
    assert told == []
    assert here.report() == Report()


def test_after_the_end_of_the_membership_nothing_is_here() -> None:
    here, told = offers(), Told()
    here.add("carts", 2, told, dict)
    here.take(PLAN)
    here.end()
    here.take(PLAN)
    assert told == [{0: True, 1: False}, {0: False, 1: False}, {0: False, 1: False}]


def test_a_table_that_fails_does_not_keep_the_plan_from_the_others() -> None:
    def fail(_: Mapping[int, Assignment]) -> None:
        raise KeyError("a defect")

    here, told = offers(), Told()
    here.add("users", 1, fail, dict)
    here.add("carts", 2, told, dict)
    here.take(PLAN)
    assert told == [{0: True, 1: False}]


def test_a_report_has_offers_and_lags() -> None:
    here = offers()
    here.add("carts", 2, Told(), lambda: {0: 5, 1: 0})
    assert here.report() == Report({"carts": 2}, {"carts": {0: 5, 1: 0}})


def test_a_member_that_does_not_report_keeps_what_the_plan_has_for_it() -> None:
    described = describe_members(
        {"a": "h:1", "b": "h:2"}, {"a": Report({"users": 1})}, PLAN, NOW_MS
    )
    assert described == {"a": PlanMember("h:1", {"users": 1}), "b": MEMBERS["b"]}


def test_a_member_at_another_address_offers_nothing_until_it_reports() -> None:
    described = describe_members({"b": "h:7"}, {}, PLAN, NOW_MS)
    assert described == {"b": PlanMember("h:7", {})}


def test_a_member_that_restarts_stays_in_the_plan_until_its_time_is_over() -> None:
    here = {"a": "h:1", "b": "h:2"}
    leaving = {"a": Report({"carts": 2}), "b": Report({"carts": 2}, away_for_ms=500)}
    announced = describe_members(here, leaving, PLAN, NOW_MS)
    assert announced["b"].away_until_ms == NOW_MS + 500
    plan = Plan(4, "a", announced, PLAN.owners)
    again = describe_members(here, leaving, plan, NOW_MS + 300)
    assert again["b"].away_until_ms == NOW_MS + 500, "its time runs since it was announced"
    gone = {"a": "h:1"}
    assert describe_members(gone, leaving, plan, NOW_MS + 499)["b"] == announced["b"]
    assert "b" not in describe_members(gone, leaving, plan, NOW_MS + 500)


def test_a_member_that_has_come_back_is_away_no_more() -> None:
    away = {**MEMBERS, "b": PlanMember("h:2", {"carts": 2}, away_until_ms=NOW_MS + 500)}
    plan = Plan(4, "a", away, PLAN.owners)
    back = describe_members({"b": "h:9"}, {"b": Report({"carts": 2})}, plan, NOW_MS)
    assert back["b"] == PlanMember("h:9", {"carts": 2})


def test_a_topic_withdrawn_after_the_announcement_of_a_restart_stays_offered() -> None:
    offers = Offers("a")
    offers.add("carts", 2, lambda _: None, dict)
    offers.announce_restart(60_000)
    offers.withdraw("carts")
    assert offers.report().offers == {"carts": 2}
    assert offers.report().away_for_ms == 60_000


HEARING, DEAF_TO_A = Report({"carts": 2}), Report({"carts": 2}, unheard=frozenset("a"))


@pytest.mark.parametrize(
    ("reports", "cut_off"),
    [
        ({"a": HEARING, "b": DEAF_TO_A, "c": DEAF_TO_A}, True),
        ({"a": HEARING, "b": DEAF_TO_A}, True),
        ({"b": DEAF_TO_A, "c": HEARING}, True),
        ({"a": HEARING, "b": DEAF_TO_A, "c": HEARING}, False),
        ({"a": DEAF_TO_A, "b": HEARING}, False),
        ({"b": HEARING, "c": HEARING}, False),
    ],
)
def test_a_member_that_the_others_cannot_hear_gives_its_partitions_away(
    reports: dict[str, Report], cut_off: bool
) -> None:
    everybody = {"a": "h:1", "b": "h:2", "c": "h:3"}
    described = describe_members(everybody, reports, PLAN, NOW_MS)
    assert [name for name, each in described.items() if each.draining] == ["a"] * cut_off


def test_a_member_that_no_broker_answers_gives_its_partitions_away() -> None:
    reports = {"a": HEARING, "b": Report({"carts": 2}, deaf=True)}
    described = describe_members({"a": "h:1", "b": "h:2"}, reports, PLAN, NOW_MS)
    assert [name for name, each in described.items() if each.draining] == ["b"]
