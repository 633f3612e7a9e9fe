"""The fence of a partition: who holds it, and the record that says so in the log."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from lastword.records import FENCE_KEY, Write


class Fence(NamedTuple):
    """What a take-over established: no record of an earlier holder has an offset above ``offset``.

    ``offset`` is that of the fence record.
    """

    offset: int
    producer_id: int
    epoch: int


class FenceNote(NamedTuple):
    """Who takes over, and the number of the plan that says so."""

    instance: str
    plan: int


class Holder(NamedTuple):
    """By whom the broker knows the holder of a transactional id."""

    producer_id: int
    epoch: int


class FenceRecord(msgspec.Struct, frozen=True):
    """The value of a fence record.

    ``released`` marks the last record of a holder that gave the partition up by itself: it answers
    no more reads, so its successor need not wait until the read lease is over.
    """

    instance: str
    plan: int
    producer_id: int
    epoch: int
    released: bool = False


def encode_fence(record: FenceRecord) -> bytes:
    """As JSON, so that people can read it in the log."""
    return msgspec.json.encode(record)


def decode_fence(value: bytes | None) -> FenceRecord | None:
    """The fence record with this value; None if it is something else."""
    try:
        return msgspec.json.decode(value or b"", type=FenceRecord)
    except msgspec.DecodeError:
        return None


def fence_write(record: FenceRecord) -> Write:
    """The record to append."""
    return Write(FENCE_KEY, encode_fence(record))
