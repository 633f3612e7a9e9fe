"""The fence of a partition: its holder, and the record in the log that proves it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from lastword.records import FENCE_KEY, Write


class Fence(NamedTuple):
    """The result of a take-over: no record of an earlier holder has an offset above ``offset``.

    ``offset`` is that of the fence record.
    """

    offset: int
    producer_id: int
    epoch: int


class FenceNote(NamedTuple):
    """The instance that takes over, and the number of the plan that names it."""

    instance: str
    plan: int


class Holder(NamedTuple):
    """The producer id and epoch of a transactional id's holder."""

    producer_id: int
    epoch: int


class FenceRecord(msgspec.Struct, frozen=True):
    """The value of a fence record.

    ``released`` marks the last record of a holder that released the partition itself. It answers
    no more reads, so its successor need not wait for the read lease to end.
    """

    instance: str
    plan: int
    producer_id: int
    epoch: int
    released: bool = False


def encode_fence(record: FenceRecord) -> bytes:
    """Encode as JSON, so that people can read it in the log."""
    return msgspec.json.encode(record)


def decode_fence(value: bytes | None) -> FenceRecord | None:
    """Decode a fence record; None if the value is something else."""
    try:
        return msgspec.json.decode(value or b"", type=FenceRecord)
    except msgspec.DecodeError:
        return None


def fence_write(record: FenceRecord) -> Write:
    """The record to append."""
    return Write(FENCE_KEY, encode_fence(record))
