"""When a part in real-time mode gets another number of tasks."""

from __future__ import annotations

from lastword.pipelines.real_time.task_count import SETTLED_S, TaskCount
from lastword.spark.slots import Slots
from lastword.testing.fake_clock import FakeClock


class Lab:
    """A part with four partitions, and slots whose number a test sets."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.clock = FakeClock()
        given = Slots(lambda: self.slots, appear_s=0.0)
        self.count = TaskCount(given, partitions=4, clock=self.clock)


def test_a_part_has_as_many_tasks_as_slots_but_no_more_than_partitions() -> None:
    assert Lab(3).count.choose() == 3
    assert Lab(9).count.choose() == 4


def test_a_lasting_change_of_the_slots_outdates_the_number() -> None:
    lab = Lab(2)
    lab.count.choose()
    lab.slots = 1
    assert not lab.count.is_outdated()
    lab.clock.advance(seconds=SETTLED_S)
    assert lab.count.is_outdated()
    assert lab.count.choose() == 1
    assert not lab.count.is_outdated()


def test_an_executor_that_is_replaced_soon_changes_nothing() -> None:
    lab = Lab(2)
    lab.count.choose()
    for slots in (1, 2, 1):
        lab.slots = slots
        lab.clock.advance(seconds=SETTLED_S / 2)
        assert not lab.count.is_outdated()
    lab.clock.advance(seconds=SETTLED_S / 2)
    assert not lab.count.is_outdated()


def test_more_slots_than_partitions_change_nothing() -> None:
    lab = Lab(5)
    lab.count.choose()
    lab.slots = 50
    lab.clock.advance(seconds=SETTLED_S)
    assert not lab.count.is_outdated()
