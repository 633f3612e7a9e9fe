"""The outcomes that only conditional writes have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from lastword.errors import (
    ConflictError,
    IndeterminateError,
    LastwordError,
    NotOwnerError,
)
from lastword.rows import offset_of
from lastword.writer.outcome import Acknowledged, Failed, Indeterminate, Outcome, Trouble
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import Applied, Conflicted


@dataclass(frozen=True, slots=True)
class Conflict(Trouble):
    """Not written: the key has another version than expected. ``row`` is its current row."""

    status: ClassVar[str] = "conflict"
    error: ConflictError = field()
    row: bytes | None = None


@dataclass(frozen=True, slots=True)
class NotOwner(Trouble):
    """Not written: the partition's owner was not found in time. Try again."""

    status: ClassVar[str] = "not-owner"
    error: NotOwnerError = field()


def outcome_of_result(key: Any, result: Result) -> Outcome:
    """The outcome of a put with this answer of its owner."""
    match result:
        case Applied(version=version):
            return Acknowledged(key, version)
        case Conflicted(row=row):
            return Conflict(key, conflict_error(row), row)
        case NotOwnerError():
            return NotOwner(key, result)
        case IndeterminateError():
            return Indeterminate(key, result)
        case LastwordError():
            return Failed(key, result)
    raise RuntimeError(f"unexpected answer to a put: {result!r}")


def conflict_error(row: bytes | None, partition: int = -1) -> ConflictError:
    """The error of a write whose condition does not hold for the current row."""
    offset = None if row is None else offset_of(row)
    now = "is absent" if offset is None else f"has a record at offset {offset}"
    return ConflictError(
        f"nothing was written: the key {now}, which is not the expected version",
        version=None if offset is None else (partition, offset),
        hint="read the current value, decide again, and write with its version",
    )
