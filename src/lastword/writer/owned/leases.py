"""Leases: rows that give a holder a right for a limited time, by the owner's clock.

The value of a lease's row names the holder. The owner counts the time from its acknowledgement of
the last acquisition or renewal. The holder counts from before it sent the request, and so always
stops first. Clocks are never compared. The token of a lease is the offset of the record that
acquired it, so each new holder has a greater one.

A new owner does not know how much time is left, so it restarts every lease with its full time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import ceil, inf

import msgspec

from lastword.clock import Clock
from lastword.errors import InvalidRecordError
from lastword.rows import offset_of, value_of
from lastword.writer.owned.draft import Cell, Draft, Known, Pending, Settle
from lastword.writer.owned.requests import (
    Acquire,
    Denied,
    Leased,
    Release,
    Renew,
    new_request_id,
)

LONGEST_TTL_MS = 24 * 3_600_000
SHORTEST_TTL_MS = 1000


class LeaseRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The value of a lease's row. The acquiring record has no token: its offset is the token."""

    holder: str
    ttl_ms: int
    token: int | None = None


class Leases:
    """The ends of the leases of one owned partition. Used by the owner's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[bytes, float] = {}

    def rearm(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Restart every lease among these rows with its full time."""
        self._ends = {}
        for key, row in rows:
            with suppress(InvalidRecordError):  # not a lease: another program wrote it
                self._arm(key, lease_of(value_of(row)).ttl_ms)

    def decide(self, request: Acquire | Renew | Release, draft: Draft) -> Settle:
        """Decide the request; its answer, given after the acknowledgement, starts the time."""
        cell = draft.cell(request.key)
        lease = None if cell.value is None else lease_of(cell.value)
        if isinstance(request, Acquire):
            return self._acquire(request, draft, cell, lease)
        if lease is None or _token(cell, lease) != request.token:
            return _denied(lease, 0)
        if isinstance(request, Renew):
            renewed = LeaseRow(lease.holder, lease.ttl_ms, request.token)
            return self._write(request, renewed, draft)
        draft.write(request.key, None, request.request_id)
        return lambda _: self._disarm(request.key, request.token)

    def drop_ended(self, draft: Draft) -> None:
        """Write tombstones for leases that have ended and were not acquired in this batch."""
        now = self._clock.monotonic()
        for key in [key for key, end in self._ends.items() if end <= now]:
            cell = draft.cell(key)
            if isinstance(cell, Known):
                if cell.row is not None:
                    draft.write(key, None, new_request_id())
                del self._ends[key]

    @property
    def next_end(self) -> float:
        """When the next lease ends, in monotonic time; infinity if there is none."""
        return min(self._ends.values(), default=inf)

    def _acquire(
        self, request: Acquire, draft: Draft, cell: Cell, lease: LeaseRow | None
    ) -> Settle:
        if not SHORTEST_TTL_MS <= request.ttl_ms <= LONGEST_TTL_MS:
            raise InvalidRecordError(
                f"a lease of {request.ttl_ms} ms is not allowed", hint="choose from 1 s to 24 h"
            )
        if lease is not None and lease.holder == request.holder:
            token = _token(cell, lease)
            if token is None:  # acquired in the same batch
                return lambda offsets: Leased(_acquired_at(cell, offsets))
            return self._write(request, LeaseRow(request.holder, request.ttl_ms, token), draft)
        if lease is not None and isinstance(cell, Pending):
            return _denied(lease, lease.ttl_ms)
        if lease is not None and (remaining_ms := self._remaining_ms(request.key)) > 0:
            return _denied(lease, remaining_ms)
        return self._write(request, LeaseRow(request.holder, request.ttl_ms), draft)

    def _write(self, request: Acquire | Renew, lease: LeaseRow, draft: Draft) -> Settle:
        number = draft.write(request.key, msgspec.json.encode(lease), request.request_id).number

        def settle(offsets: Sequence[int]) -> Leased:
            self._arm(request.key, lease.ttl_ms)
            return Leased(offsets[number] if lease.token is None else lease.token)

        return settle

    def _arm(self, key: bytes, ttl_ms: int) -> None:
        self._ends[key] = self._clock.monotonic() + ttl_ms / 1000

    def _disarm(self, key: bytes, token: int) -> Leased:
        self._ends.pop(key, None)
        return Leased(token)

    def _remaining_ms(self, key: bytes) -> int:
        return max(0, ceil((self._ends.get(key, 0.0) - self._clock.monotonic()) * 1000))


def lease_of(value: bytes) -> LeaseRow:
    """The lease in a row's value; raises InvalidRecordError if it is something else."""
    try:
        return msgspec.json.decode(value, type=LeaseRow)
    except msgspec.DecodeError as error:
        raise InvalidRecordError(
            f"the key holds a value that is not a lease: {error}",
            hint="use separate keys for leases",
        ) from error


def _token(cell: Cell, lease: LeaseRow) -> int | None:
    """The token of the lease in a cell; None if it was acquired in this batch."""
    if lease.token is not None or isinstance(cell, Pending):
        return lease.token
    return None if cell.row is None else offset_of(cell.row)


def _acquired_at(cell: Cell, offsets: Sequence[int]) -> int:
    return offsets[cell.number] if isinstance(cell, Pending) else -1


def _denied(lease: LeaseRow | None, remaining_ms: int) -> Settle:
    return lambda _: Denied(None if lease is None else lease.holder, remaining_ms)
