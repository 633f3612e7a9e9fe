"""Which plan of the control topic counts, while it is read bit by bit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from lastword.cluster.control_topic import PARTITION, PLAN_KEY, ControlTopic
from lastword.cluster.plan import Plan, encode_plan
from lastword.column_batch import ColumnBatch
from lastword.kafka.log.source import EndOfLog


class Ends:
    """An admin client that knows where the log ends."""

    def __init__(self, end: int) -> None:
        self.end = end

    def end_offsets(self, _topic: str, partitions: Iterable[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, self.end)


class Read:
    """A control topic of which a test reads one record after another."""

    def __init__(self, end: int) -> None:
        self.ends = Ends(end)
        self.numbers: list[int] = []
        self._control = ControlTopic(
            cast("Any", self.ends), "control", lambda plan: self.numbers.append(plan.number)
        )

    def plan(self, offset: int, number: int) -> None:
        batch = ColumnBatch(
            partition=PARTITION,
            keys=[PLAN_KEY],
            values=[encode_plan(Plan(number, "a"))],
            offsets=np.array([offset], np.int64),
            timestamps=np.array([1], np.int64),
            headers=[None],
            next_offset=offset + 1,
            leader_epoch=-1,
            unreadable_headers=[],
        )
        self._take(batch)

    def end(self, offset: int) -> None:
        self._take(EndOfLog(PARTITION, offset))

    def _take(self, item: ColumnBatch | EndOfLog) -> None:
        self._control._take(cast("Any", None), item)
        self._control._deliver()


def test_a_plan_that_was_replaced_before_the_end_is_never_handed_over() -> None:
    read = Read(end=3)
    read.plan(0, number=1)
    assert read.numbers == []
    read.plan(2, number=2)
    assert read.numbers == [2]


def test_the_end_is_captured_again_after_each_plan() -> None:
    """A process that was frozen finds old plans in its buffers."""
    read = Read(end=1)
    read.plan(0, number=1)
    read.ends.end = 9
    read.plan(1, number=2)
    read.plan(4, number=3)
    assert read.numbers == [1]
    read.plan(8, number=4)
    assert read.numbers == [1, 4]


def test_the_marker_of_a_transaction_does_not_hold_a_plan_back() -> None:
    read = Read(end=2)
    read.plan(0, number=1)
    assert read.numbers == []
    read.end(2)
    assert read.numbers == [1]
