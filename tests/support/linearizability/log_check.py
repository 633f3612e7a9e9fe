"""The first checker: the log itself is the order in which things happened; versions are offsets.

A history over it is linearizable exactly if every operation can stand somewhere in that order:
writes where their records are, reads after the version that they saw, and nothing before what
was over when it began. So no search is needed, and every violation names its records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from lastword.records import Version
from tests.support.linearizability.history import FIRST, SECOND, Operation


class LoggedWrite(NamedTuple):
    """A record of the log, decoded; ``value`` is None for a tombstone."""

    key: str
    version: Version
    value: Any
    request: bytes = b""
    """The id of the request that wrote it; empty if none is known."""


class Violation(NamedTuple):
    """Something that cannot have happened if the table is what it promises to be."""

    what: str
    operation: Operation | None
    logged: LoggedWrite | None = None

    def __str__(self) -> str:
        return f"{self.what}: {self.operation}, {self.logged}"


def check_log(history: Sequence[Operation], log: Iterable[LoggedWrite]) -> list[Violation]:
    """Everything that is wrong; empty if the history is linearizable."""
    records: dict[str, list[LoggedWrite]] = {}
    for each in sorted(log, key=lambda logged: logged.version):
        records.setdefault(each.key, []).append(each)
    operations: dict[str, list[Operation]] = {}
    for operation in history:
        for each in _per_key(operation):
            operations.setdefault(each.key, []).append(each)
    found = [
        violation
        for key in sorted(records.keys() | operations.keys())
        for violation in _KeyCheck(operations.get(key, []), records.get(key, [])).violations()
    ]
    for pair in sorted({key.partition("/")[0] for key in records if "/" in key}):
        found += _in_part(records.get(pair + FIRST, []) + records.get(pair + SECOND, []))
    return found


def _per_key(operation: Operation) -> list[Operation]:
    """A transaction as an operation on each of its keys; the condition is on the first one."""
    if operation.kind != "transact":
        return [operation]
    replace, pair, at = msgspec.structs.replace, operation.key, operation.second_version
    first = replace(operation, kind="cas", key=pair + FIRST)
    second = replace(operation, kind="put", key=pair + SECOND, version=at, expected=None)
    return [first] if operation.status == "conflict" else [first, second]


def _in_part(records: list[LoggedWrite]) -> list[Violation]:
    """The first record of a pair that was not written together with that of the other key."""
    records.sort(key=lambda logged: logged.version)
    for one, other in zip_longest(records[::2], records[1::2]):
        if other is None or one.value != other.value or one.key == other.key:
            return [Violation("a transaction was applied in part", None, one)]
    return []


class _KeyCheck:
    """One key: its operations, and its records in the order of the log."""

    def __init__(self, history: Sequence[Operation], records: Sequence[LoggedWrite]) -> None:
        self._history = history
        self._records = records
        self._places = {str(each.version): i for i, each in enumerate(records)}
        self._found: list[Violation] = []
        self._writers: dict[int, Operation] = {}
        """By the index of the record: the operation that wrote it."""

    def violations(self) -> list[Violation]:
        self._place_acknowledged()
        self._place_unknown()
        self._check_each_record()
        self._check_requests()
        self._check_order(self._positions())
        return self._found

    # -- which record is whose -----------------------------------------------------------------

    def _place_acknowledged(self) -> None:
        for operation in self._history:
            if not operation.wrote:
                continue
            place = self._places.get(operation.version or "")
            if place is None:
                self._wrong("an acknowledged write is not in the log", operation)
            elif place in self._writers:
                self._wrong("two writes were told the same version", operation, place)
            else:
                self._writers[place] = operation
                if _written(operation) != self._records[place].value:
                    self._wrong("an acknowledged write has another value", operation, place)

    def _place_unknown(self) -> None:
        """Each record without an answer belongs to exactly one write with an unknown outcome."""
        unknown = [o for o in self._history if o.writes and o.status == "unknown"]
        for place, logged in enumerate(self._records):
            if place in self._writers:
                continue
            before = self._records[place - 1].value if place else None
            fitting = next((o for o in unknown if _leads_to(o, before, logged.value)), None)
            if fitting is None:
                self._wrong("nobody asked for this record", None, place)
            else:
                unknown.remove(fitting)
                self._writers[place] = fitting

    # -- what each record says -----------------------------------------------------------------

    def _check_each_record(self) -> None:
        for place, operation in self._writers.items():
            before = self._records[place - 1] if place else None
            previous = None if before is None or before.value is None else before
            if operation.kind == "cas":
                version = None if previous is None else str(previous.version)
                if version != operation.expected:
                    self._wrong("a condition did not hold", operation, place)
            value = None if previous is None else previous.value
            if not _leads_to(operation, value, self._records[place].value):
                self._wrong("an operation was not applied to the value before it", operation, place)

    def _check_requests(self) -> None:
        """One that is sent again, by another way or to another owner, is applied once.

        Values do not show it: of two unknown increments, one may be missing and one applied twice.
        """
        seen: set[bytes] = set()
        for place, logged in enumerate(self._records):
            if logged.request in seen:
                self._wrong("a request was applied twice", self._writers.get(place), place)
            elif logged.request:
                seen.add(logged.request)

    # -- when ----------------------------------------------------------------------------------

    def _positions(self) -> list[tuple[Operation, int]]:
        """How many records of the key each operation has seen or written, its own included."""
        positions = [(operation, place + 1) for place, operation in self._writers.items()]
        for operation in self._history:
            if operation.saw:
                position = self._seen(operation)
                if position is not None:
                    positions.append((operation, position))
        return positions

    def _seen(self, operation: Operation) -> int | None:
        if operation.version is None:
            return self._seen_absent(operation)
        place = self._places.get(operation.version)
        if place is None:
            self._wrong("a version was seen that is not in the log", operation)
            return None
        if self._records[place].value != operation.result:
            self._wrong("a value was seen that its version does not have", operation, place)
        if operation.status == "conflict" and operation.version == operation.expected:
            self._wrong("a condition that held was refused", operation, place)
        if operation.kind == "put_if_greater" and operation.value > operation.result:
            self._wrong("a greater value was refused", operation, place)
        return place + 1

    def _seen_absent(self, operation: Operation) -> int | None:
        """The earliest absent state that what was known before allows."""
        if operation.status == "conflict" and operation.expected is None:
            self._wrong("a condition that held was refused", operation)
        known = self._known_before(operation)
        for position in range(known, len(self._records) + 1):
            if position == 0 or self._records[position - 1].value is None:
                return position
        self._wrong("a key was seen absent that was there", operation)
        return None

    def _known_before(self, operation: Operation) -> int:
        """The latest record that somebody knew of before the operation began."""
        known = 0
        for other in self._history:
            if other.completed_ns < operation.invoked_ns and other.version is not None:
                place = self._places.get(other.version)
                known = known if place is None else max(known, place + 1)
        return known

    def _check_order(self, positions: list[tuple[Operation, int]]) -> None:
        """An operation that ended before another began comes before it."""
        ended = sorted(positions, key=lambda each: each[0].completed_ns)
        times = [operation.completed_ns for operation, _ in ended]
        latest: list[tuple[int, Operation]] = []
        for operation, position in ended:
            if not latest or position > latest[-1][0]:
                latest.append((position, operation))
            else:
                latest.append(latest[-1])
        for operation, position in positions:
            before = bisect_left(times, operation.invoked_ns)
            if before == 0:
                continue
            known, by = latest[before - 1]
            if known > position or (operation.writes and known == position):
                what = f"{operation.id} began after {by.id} had ended, but stands before it"
                self._wrong(what, operation, position - 1 if position else None)

    def _wrong(self, what: str, operation: Operation | None, place: int | None = None) -> None:
        logged = None if place is None else self._records[place]
        self._found.append(Violation(what, operation, logged))


def _written(operation: Operation) -> Any:
    """The value that an acknowledged write said it wrote."""
    if operation.kind == "delete":
        return None
    computed = operation.kind in ("increment", "append", "merge")
    return operation.result if computed else operation.value


def _leads_to(operation: Operation, before: Any, after: Any) -> bool:
    match operation.kind:
        case "increment":
            return bool(after == (before or 0) + operation.value)
        case "append":
            return bool(after == [*(before or []), operation.value])
        case "merge":
            return bool(after == {**(before or {}), **operation.value})
        case "put_if_greater":
            return bool(after == operation.value and (before is None or after > before))
        case "delete":
            return after is None
        case _:
            return bool(after == operation.value)


def fold(log: Iterable[LoggedWrite]) -> Mapping[str, Any]:
    """The last value of each key in the log."""
    rows: dict[str, Any] = {}
    for each in sorted(log, key=lambda logged: logged.version):
        rows[each.key] = each.value
    return {key: value for key, value in rows.items() if value is not None}
