"""Compares the answers of instances with the log, and measures the cost of faults."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lastword.records import FENCE_KEY, Record, Version
from tests.support.partition_faults.faults import Fault

NOT_WRITTEN = {"NotOwnerError", "NotReadyError", "OverloadedError", "WriteFailedError"}
WINDOW_S = 5.0


class WriteMade(NamedTuple):
    instance: str
    partition: int
    began: float
    ended: float
    status: str
    value: str
    offset: int


class ReadMade(NamedTuple):
    instance: str
    partition: int
    began: float
    ended: float
    status: str
    key: str
    value: str | None
    position: int
    staleness_s: float
    answered_by: str


class Histories(NamedTuple):
    writes: list[WriteMade]
    reads: list[ReadMade]


def read_histories(paths: Iterable[Path]) -> Histories:
    """The lines of all instances; the last line of a killed process may be cut."""
    found = Histories([], [])
    for path in paths:
        for line in path.read_text().splitlines():
            try:
                kind, *fields = json.loads(line)
            except json.JSONDecodeError:
                continue
            if kind == "w":
                found.writes.append(WriteMade(path.stem, *fields))
            else:
                found.reads.append(ReadMade(path.stem, *fields))
    return found


def violations(histories: Histories, log: Sequence[Record]) -> list[str]:
    """Everything that was said and does not agree with the log."""
    records = [each for each in log if each.key != FENCE_KEY]
    return [
        *_lost_writes(histories.writes, records),
        *_wrong_reads(histories.reads, records),
        *_reads_staler_than_stated(histories),
    ]


def _lost_writes(writes: Sequence[WriteMade], records: Sequence[Record]) -> list[str]:
    found = []
    at = {(each.partition, each.offset): _value(each) for each in records}
    values = set(at.values())
    for write in writes:
        if write.status == "ok" and at.get((write.partition, write.offset)) != write.value:
            found.append(f"acknowledged and lost: {write}")
        if write.status in NOT_WRITTEN and write.value in values:
            found.append(f"refused and written: {write}")
    return found


def _wrong_reads(reads: Sequence[ReadMade], records: Sequence[Record]) -> list[str]:
    """An answer is the last record of its key below the position that it states."""
    history: dict[tuple[int, str], tuple[list[int], list[str | None]]] = {}
    for each in records:
        offsets, values = history.setdefault((each.partition, (each.key or b"").decode()), ([], []))
        offsets.append(each.offset)
        values.append(_value(each))
    found = []
    for read in reads:
        if read.status != "ok":
            continue
        offsets, values = history.get((read.partition, read.key), ([], []))
        at = bisect_left(offsets, read.position)
        if read.value != (values[at - 1] if at else None):
            found.append(f"not what the log has at the position: {read}")
    return found


def _reads_staler_than_stated(histories: Histories) -> list[str]:
    """Everything acknowledged longer ago than the staleness stated is below the position.

    The staleness is of a moment after the read began.
    """
    acknowledged: dict[int, list[WriteMade]] = defaultdict(list)
    for write in histories.writes:
        if write.status == "ok":
            acknowledged[write.partition].append(write)
    highest: dict[int, tuple[list[float], list[int]]] = {}
    for partition, writes in acknowledged.items():
        writes.sort(key=lambda each: each.ended)
        offsets: list[int] = []
        for write in writes:
            offsets.append(max(write.offset, offsets[-1] if offsets else -1))
        highest[partition] = [each.ended for each in writes], offsets
    found = []
    for read in histories.reads:
        if read.status != "ok":
            continue
        ends, offsets = highest.get(read.partition, ([], []))
        known = bisect_left(ends, read.began - read.staleness_s)
        if known and offsets[known - 1] >= read.position:
            found.append(f"staler than stated, offset {offsets[known - 1]} is missing: {read}")
    return found


def unseen_or_repeated(path: Path, log: Sequence[Record]) -> list[str]:
    """What a watch, over all lives of its process, did not see exactly once and in order."""
    found = []
    seen: dict[int, list[int]] = defaultdict(list)
    for line in path.read_text().splitlines():
        if line.endswith(";"):
            version = Version.parse(line.split()[0])
            seen[version.partition].append(version.offset)
    written: dict[int, list[int]] = defaultdict(list)
    for each in log:
        if each.key != FENCE_KEY:
            written[each.partition].append(each.offset)
    for partition, offsets in seen.items():
        between = [o for o in written[partition] if offsets[0] <= o <= offsets[-1]]
        if offsets != between:
            found.append(
                f"{path.name}, partition {partition}: missed {sorted(set(between) - set(offsets))}"
                f", saw {len(offsets)} changes of {len(between)}"
            )
    if len(seen) < len(written):
        found.append(f"{path.name} saw changes of partitions {sorted(seen)} only")
    return found


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


def cost_of(fault: Fault, histories: Histories) -> Cost:
    """From the fault on, for the instances that were not harmed."""
    reads = [
        each
        for each in histories.reads
        if each.instance != fault.victim
        and fault.began <= each.ended
        and each.began <= fault.began + WINDOW_S
    ]
    took = sorted(each.ended - max(each.began, fault.began) for each in reads)
    writes = [
        each
        for each in histories.writes
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


def _value(record: Record) -> str | None:
    return None if record.value is None else json.loads(record.value)
