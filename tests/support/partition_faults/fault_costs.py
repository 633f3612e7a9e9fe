"""What faults cost the instances that were not harmed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.support.partition_faults.faults import Fault
from tests.support.partition_faults.histories import Histories, ReadMade, WriteMade

WINDOW_S = 5.0


class Cost(NamedTuple):
    """What a fault cost the instances that were not harmed."""

    fault: Fault
    reads: int
    failed_reads: int
    read_p99_s: float
    read_max_s: float
    staleness_max_s: float
    failed_writes: int
    written_again_after_s: float

    def __str__(self) -> str:
        return (
            f"{self.fault.kind} of {self.fault.victim} (owner of {self.fault.owned}): "
            f"{self.reads} reads, {self.failed_reads} failed, p99 {self.read_p99_s:.3f} s, "
            f"max {self.read_max_s:.3f} s, staleness max {self.staleness_max_s:.2f} s; "
            f"{self.failed_writes} writes failed, "
            f"all partitions written after {self.written_again_after_s:.2f} s"
        )


def costs_of(faults: Sequence[Fault], histories: Histories) -> list[Cost]:
    """The cost of each fault."""
    reads = list(histories.reads)
    return [_cost_of(fault, histories.writes, reads) for fault in faults]


def most_of(values: Iterable[float]) -> float:
    """What 99 % of the values do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(0.99 * len(ordered)) - 1]


def _cost_of(fault: Fault, written: Sequence[WriteMade], read: Sequence[ReadMade]) -> Cost:
    reads = [
        each
        for each in read
        if each.instance != fault.victim
        and fault.began <= each.ended
        and each.began <= fault.began + WINDOW_S
    ]
    took = sorted(each.ended - max(each.began, fault.began) for each in reads)
    writes = [
        each
        for each in written
        if each.instance != fault.victim and fault.began <= each.began <= fault.ended
    ]
    first: dict[tuple[str, int], float] = {}
    for each in writes:
        if each.status == "ok" and each.partition in fault.owned:
            place = each.instance, each.partition
            first[place] = min(each.ended, first.get(place, each.ended))
    return Cost(
        fault,
        len(reads),
        sum(each.status != "ok" for each in reads),
        took[int(len(took) * 0.99)] if took else 0.0,
        took[-1] if took else 0.0,
        max((each.staleness_s for each in reads), default=0.0),
        sum(each.status != "ok" for each in writes),
        max(first.values(), default=fault.began) - fault.began,
    )
