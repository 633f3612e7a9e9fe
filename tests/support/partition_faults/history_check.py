"""Compares the answers of instances with the log."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lastword.records import FENCE_KEY, Record, Version
from lastword.writer.owned.verdict import request_id_of
from tests.support.partition_faults.histories import Histories, ReadMade, WriteMade
from tests.support.partition_faults.reading import SCAN, between

NOT_WRITTEN = {"NotOwnerError", "NotReadyError", "OverloadedError", "WriteFailedError"}

Row = tuple[str, int, str]
"""A key, and offset and value of its record."""


@dataclass
class Verdict:
    """What was compared, and everything that does not agree with the log.

    ``keys`` is how many keys the reads were about, found or not. ``routed_keys`` is how many of
    them other instances answered for. ``observed_max_s`` is the longest time between the
    acknowledgement of a write and the start of a read that does not reflect it.
    """

    violations: list[str] = field(default_factory=list)
    reads: int = 0
    keys: int = 0
    routed: int = 0
    routed_keys: int = 0
    failed: list[ReadMade] = field(default_factory=list)
    stated_max_s: float = 0.0
    observed_max_s: float = 0.0
    took_s: dict[str, array[float]] = field(default_factory=lambda: defaultdict(_seconds))

    def __str__(self) -> str:
        took = {kind: sorted(each) for kind, each in self.took_s.items()}
        times = [
            f"{len(each)} x {kind} p50 {1000 * each[len(each) // 2]:.1f} ms, "
            f"p99 {1000 * each[len(each) * 99 // 100]:.1f} ms, max {each[-1]:.2f} s"
            for kind, each in took.items()
        ]
        return (
            f"{self.reads} requests of {self.keys} keys ({'; '.join(times)}), {self.routed} of "
            f"them with {self.routed_keys} keys answered by other instances alone, "
            f"{len(self.failed)} failed, staleness at most {self.stated_max_s:.3f} s "
            f"as stated and {self.observed_max_s:.3f} s as observed"
        )


def judge(histories: Histories, log: Sequence[Record]) -> Verdict:
    """Compare every write and every row read with the log."""
    records = [each for each in log if each.key != FENCE_KEY]
    verdict = Verdict(_lost_writes(histories.writes, records) + _written_twice(records))
    table, acknowledged = _LoggedTable(records), _Acknowledged(histories.writes)
    for read in histories.reads:
        verdict.reads += 1
        if read.status != "ok":
            verdict.failed.append(read)
            continue
        about = table.keys_of(read)
        verdict.keys += len(about)
        verdict.routed += read.routed
        verdict.routed_keys += len(about) * read.routed
        verdict.took_s[read.kind].append(read.ended - read.began)
        verdict.stated_max_s = max(verdict.stated_max_s, read.staleness_s)
        if not table.agrees(read, about):
            verdict.violations.append(f"not what the log has at the position: {read}")
        for partition, position in read.offsets.items():
            missed_s = acknowledged.missed_s(partition, position, read.began)
            verdict.observed_max_s = max(verdict.observed_max_s, missed_s)
            # The staleness is of a moment after the read began.
            if missed_s > read.staleness_s:
                verdict.violations.append(
                    f"staler than stated, partition {partition} lacks what was acknowledged "
                    f"{missed_s:.3f} s before: {read}"
                )
    return verdict


def _lost_writes(writes: Sequence[WriteMade], records: Sequence[Record]) -> list[str]:
    found = []
    at = {(each.partition, each.offset): (_key(each), _value(each)) for each in records}
    values = {value for _, value in at.values()} - {None}
    for write in writes:
        written = at.get((write.partition, write.offset))
        if write.status == "ok" and written != (write.key, write.value):
            found.append(f"acknowledged and lost: {write}")
        if write.status in NOT_WRITTEN and write.value in values:
            found.append(f"refused and written: {write}")
    return found


def _written_twice(records: Iterable[Record]) -> list[str]:
    """Requests that were sent again, by another way or to another owner, and applied twice."""
    times = Counter(request_id_of(each.headers) for each in records)
    del times[b""]  # of records that no owner wrote
    return [
        f"written {count} times: request {each!r}" for each, count in times.items() if count > 1
    ]


class _LoggedTable:
    """The table at every position of the log."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._history: dict[str, tuple[int, list[int], list[str | None]]] = {}
        for each in records:
            _, offsets, values = self._history.setdefault(_key(each), (each.partition, [], []))
            offsets.append(each.offset)
            values.append(_value(each))
        self._keys = sorted(self._history)

    def keys_of(self, read: ReadMade) -> Sequence[str]:
        """The keys that the read is about."""
        if read.kind != SCAN:
            return read.asked
        covered = set(read.partitions)
        return [key for key in between(self._keys, *read.asked) if self._history[key][0] in covered]

    def agrees(self, read: ReadMade, about: Sequence[str]) -> bool:
        """Whether the read found what the log has below its position, and nothing else.

        A scan found it in the order of the keys.
        """
        if sorted(read.offsets) != read.partitions:
            return False
        expected = []
        for key in about:
            partition, offsets, values = self._history.get(key, (-1, [], []))
            if offsets and partition not in read.offsets:
                return False
            at = bisect_left(offsets, read.offsets.get(partition, 0)) - 1
            if at >= 0 and (value := values[at]) is not None:
                expected.append((key, offsets[at], value))
        if read.kind == SCAN:
            return read.rows == expected
        return sorted(read.rows) == sorted(expected)


class _Acknowledged:
    """When the first of the writes at a position or behind it was acknowledged."""

    def __init__(self, writes: Iterable[WriteMade]) -> None:
        by_partition: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for write in writes:
            if write.status == "ok":
                by_partition[write.partition].append((write.offset, write.ended))
        self._since: dict[int, tuple[list[int], list[float]]] = {}
        for partition, made in by_partition.items():
            made.sort()
            first, firsts = float("inf"), []
            for _, ended in reversed(made):
                first = min(first, ended)
                firsts.append(first)
            self._since[partition] = [offset for offset, _ in made], firsts[::-1]

    def missed_s(self, partition: int, position: int, began: float) -> float:
        """For how long, when a read began, a write had been acknowledged that it does not have."""
        offsets, firsts = self._since.get(partition, ([], []))
        at = bisect_left(offsets, position)
        return max(0.0, began - firsts[at]) if at < len(offsets) else 0.0


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


def _seconds() -> array[float]:
    return array("d")


def _key(record: Record) -> str:
    return (record.key or b"").decode()


def _value(record: Record) -> str | None:
    return None if record.value is None else json.loads(record.value)
