"""Movements: which partitions changed their owner between the plans of the log."""

from __future__ import annotations

import pytest

from lastword.cluster.forecast import Move
from lastword.cluster.movements import KEPT_MAX, Cause, Movement, Movements
from lastword.cluster.plan import Plan, PlanMember

HERE = PlanMember("h:1", {"carts": 2})
BOTH = {"a": HERE, "b": HERE}


def plan(number: int, *owners: str, members: dict[str, PlanMember] = BOTH) -> Plan:
    return Plan(number, "a", members, owners={"carts": list(owners)})


def test_a_partition_that_changes_its_owner_is_a_movement() -> None:
    movements = Movements()
    movements.take(plan(1, "a", "a"), 100)
    movements.take(plan(2, "a", "b"), 200)
    assert movements.last == [Movement(200, 2, Move("carts", 1, "a", "b"), "rebalanced")]


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        (BOTH, {"b": HERE}, "left"),
        (BOTH | {"a": PlanMember("h:1", away_until_ms=9)}, {"b": HERE}, "restart overdue"),
        (BOTH, BOTH | {"a": PlanMember("h:1", {"carts": 2}, draining=True)}, "drained"),
        (BOTH, BOTH | {"a": PlanMember("h:1")}, "withdrew"),
        ({"a": HERE}, BOTH, "joined"),
        (BOTH | {"b": PlanMember("h:1")}, BOTH, "joined"),
        (BOTH, BOTH, "rebalanced"),
    ],
)
def test_a_movement_has_a_cause(
    before: dict[str, PlanMember], after: dict[str, PlanMember], cause: Cause
) -> None:
    movements = Movements()
    movements.take(plan(1, "a", members=before), 100)
    movements.take(plan(2, "b", members=after), 200)
    assert [each.cause for each in movements.last] == [cause]


def test_a_partition_whose_next_owner_has_warmed_up_says_so() -> None:
    movements = Movements()
    movements.take(Plan(1, "a", BOTH, owners={"carts": ["a"]}, moves={"carts": ["b"]}), 100)
    movements.take(plan(2, "b"), 200)
    assert [each.cause for each in movements.last] == ["warmed up"]


def test_the_first_owner_of_a_partition_is_no_movement() -> None:
    movements = Movements()
    movements.take(plan(1, "", "a"), 100)
    movements.take(plan(2, "b", "a"), 200)
    assert movements.last == []


def test_a_log_that_is_read_again_adds_nothing() -> None:
    movements = Movements()
    for _ in range(2):
        movements.take(plan(1, "a"), 100)
        movements.take(plan(2, "b"), 200)
    assert len(movements.last) == 1


def test_only_the_newest_movements_are_kept() -> None:
    movements = Movements()
    for number in range(KEPT_MAX + 10):
        movements.take(plan(number, "ab"[number % 2]), number)
    assert len(movements.last) == KEPT_MAX
    assert movements.last[0].plan == KEPT_MAX + 9
