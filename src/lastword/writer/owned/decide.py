"""Decides a batch of requests in the order of their arrival: the records to append, the answers.

A pure function of the rows, the requests and the time. A request sees the changes of earlier
requests in its batch, so a hundred increments of one key are one batch. The answers need the
offsets of the batch, and are given only after its acknowledgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lastword.errors import InvalidRecordError, LastwordError, WriteFailedError
from lastword.kafka.write.validity import why_invalid
from lastword.records import FENCE_KEY, NO_HEADERS, Headers, Version, Write
from lastword.writer.owned.draft import Cell, Draft, Pending, Settle, row_of
from lastword.writer.owned.leases import Leases
from lastword.writer.owned.requests import (
    Acquire,
    AnyAnswer,
    AnyRequest,
    Applied,
    Conflicted,
    Current,
    Operate,
    Put,
    Read,
    Release,
    Renew,
    Transact,
    Update,
)
from lastword.writer.owned.value_operations import Operations

Result = AnyAnswer | LastwordError


@dataclass(frozen=True, slots=True)
class Decided:
    """The records and the answers of a batch of requests."""

    draft: Draft
    decisions: Sequence[Settle | LastwordError]

    @property
    def records(self) -> Sequence[Write]:
        """The records to append, atomically; may be empty."""
        return self.draft.records

    def answers(self, offsets: Sequence[int]) -> list[Result]:
        """One answer per request, given the offsets of the records."""
        return [
            decision if isinstance(decision, LastwordError) else decision(offsets)
            for decision in self.decisions
        ]


def decide(
    requests: Sequence[AnyRequest], draft: Draft, operations: Operations, leases: Leases | None
) -> Decided:
    """Decide ``requests`` in order on an empty ``draft``; ``leases`` if the table keeps leases."""
    decisions: list[Settle | LastwordError] = []
    for request in requests:
        try:
            decisions.append(_decide_one(request, draft, operations, leases))
        except LastwordError as error:
            decisions.append(error)
    return Decided(draft, decisions)


def refuse_invalid(request: AnyRequest) -> None:
    """Raise InvalidRecordError if the request is invalid for any value of the key."""
    match request:
        case Put():  # by far the most frequent one: a Write is made only if something is unusual
            key, headers, at_ms = request.key, request.headers, request.timestamp_ms
            if not key or key == FENCE_KEY or headers or at_ms is not None:
                _refuse_invalid(Write(key, request.value, headers, at_ms))
        case Transact():
            for key, value in request.writes:
                _refuse_invalid(Write(key, value))
        case _:
            _refuse_invalid(Write(request.key, None))


def _decide_one(
    request: AnyRequest, draft: Draft, operations: Operations, leases: Leases | None
) -> Settle:
    match request:
        case Put():
            return _put(request, draft, operations)
        case Operate():
            return _operate(request, draft, operations)
        case Update():
            return _update(request, draft, operations)
        case Transact():
            return _transact(request, draft, operations)
        case Read(key=key):
            return _current(draft.cell(key))
        case Acquire() | Renew() | Release():
            if leases is None:
                raise InvalidRecordError(
                    "this table does not keep leases",
                    hint="use table.lock(), which keeps leases in a separate topic",
                )
            return leases.decide(request, draft)


def _put(request: Put, draft: Draft, operations: Operations) -> Settle:
    refuse_invalid(request)
    key, value, headers = request.key, request.value, request.headers
    if not draft.meets(key, request.expected):
        return _conflict(key, draft)
    if operations.split is not None:
        value, headers = _split(operations, value, headers)
    cell = draft.write(
        key,
        value,
        request.request_id,
        headers,
        timestamp_ms=request.timestamp_ms,
        ttl_ms=request.ttl_ms,
    )
    return _applied_one(cell, draft.partition)


def _split(
    operations: Operations, value: bytes | None, headers: Headers = NO_HEADERS
) -> tuple[bytes | None, Headers]:
    """The value and the headers of the record: the id of the schema may belong in a header."""
    if operations.split is None or value is None:
        return value, headers
    return operations.split(value, headers)


def _current_value(cell: Cell, operations: Operations) -> bytes | None:
    return operations.joined(cell.value, cell.headers)


def _operate(request: Operate, draft: Draft, operations: Operations) -> Settle:
    cell = draft.cell(request.key)
    current = _current_value(cell, operations)
    value = operations.apply(request.operation, current, request.argument)
    return _current(cell) if value is None else _replace(request, value, draft, operations)


def _update(request: Update, draft: Draft, operations: Operations) -> Settle:
    before = _current_value(draft.cell(request.key), operations)
    try:
        after = request.function(before)
    except LastwordError:
        raise
    except Exception as error:
        raise _failed_function(error) from error
    if before is None and after is None:
        return _current(draft.cell(request.key))
    return _replace(request, after, draft, operations)


def _replace(
    request: Operate | Update, value: bytes | None, draft: Draft, operations: Operations
) -> Settle:
    _refuse_invalid(Write(request.key, value))
    new, headers = _split(operations, value)
    cell = draft.write(request.key, new, request.request_id, headers, ttl_ms=request.ttl_ms)
    return _applied_one(cell, draft.partition)


def _transact(request: Transact, draft: Draft, operations: Operations) -> Settle:
    refuse_invalid(request)
    for key, expected in request.expected:
        if not draft.meets(key, expected):
            return _conflict(key, draft)
    cells = [
        draft.write(key, value, request.request_id, headers, ttl_ms=request.ttl_ms)
        for key, given in request.writes
        for value, headers in (_split(operations, given),)
    ]
    return _applied(cells, draft.partition)


def _applied_one(cell: Pending, partition: int) -> Settle:
    return lambda offsets: Applied(
        (Version(partition, offsets[cell.number]),), row_of(cell, offsets)
    )


def _applied(cells: Sequence[Pending], partition: int) -> Settle:
    last = cells[-1]

    def settle(offsets: Sequence[int]) -> Applied:
        versions = tuple(Version(partition, offsets[cell.number]) for cell in cells)
        return Applied(versions, row_of(last, offsets))

    return settle


def _conflict(key: bytes, draft: Draft) -> Settle:
    cell = draft.cell(key)
    return lambda offsets: Conflicted(key, row_of(cell, offsets))


def _current(cell: Cell) -> Settle:
    return lambda offsets: Current(row_of(cell, offsets))


def _refuse_invalid(record: Write) -> None:
    if (error := why_invalid(record)) is not None:
        raise error


def _failed_function(error: Any) -> WriteFailedError:
    return WriteFailedError(
        f"the function given to update raised {type(error).__name__}: {error}",
        hint="nothing was written; the cause is the function's own error",
    )
