"""Movements: which partitions changed their owner between the plans of the log."""

from __future__ import annotations

from lastword.cluster.forecast import Move
from lastword.cluster.movements import KEPT_MAX, Movement, Movements
from lastword.cluster.plan import Plan


def plan(number: int, *owners: str) -> Plan:
    return Plan(number, leader="a", owners={"carts": list(owners)})


def test_a_partition_that_changes_its_owner_is_a_movement() -> None:
    movements = Movements()
    movements.take(plan(1, "a", "a"), 100)
    movements.take(plan(2, "a", "b"), 200)
    assert movements.last == [Movement(200, 2, Move("carts", 1, "a", "b"))]


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
