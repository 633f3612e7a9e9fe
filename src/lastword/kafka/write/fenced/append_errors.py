"""The errors of an append under a fence: fenced, not written, or unknown."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.errors import (
    FencedError,
    IndeterminateError,
    InvalidRecordError,
    WriteFailedError,
)
from lastword.kafka.write.validity import why_invalid
from lastword.records import ANY_PARTITION, Write

_FOLLOW_THE_LOG = (
    "read the log up to the next fence record: if it holds the request id, it was applied"
)


class FenceNotKeptError(Exception):
    """The leader accepted a batch of an older epoch. Never leaves this package."""


def fenced(place: str, reason: str) -> FencedError:
    """Another process took over; the batch was not written."""
    return FencedError(
        f"{place} was taken over by another process: {reason}",
        hint="stop serving it; take it over again only if the plan still names this process",
    )


def not_written(place: str, reason: str) -> WriteFailedError:
    """The batch was certainly not written."""
    return WriteFailedError(
        f"{place} did not accept the records: {reason}",
        hint="nothing was written; write them again",
    )


def not_held(place: str) -> WriteFailedError:
    """There is no fence to append under."""
    return WriteFailedError(
        f"{place} is not held by this process, so nothing was sent",
        hint="take it over before the first append, and again after an error",
    )


def unknown(place: str, reason: str) -> IndeterminateError:
    """The batch may have been written."""
    return IndeterminateError(
        f"{place}: {reason}: the records may or may not have been written", hint=_FOLLOW_THE_LOG
    )


def too_large(place: str, topic: str, reason: str) -> InvalidRecordError:
    """A record, or the whole batch, exceeds the topic's limit."""
    return InvalidRecordError(
        f"the batch is too large for {place}: {reason}",
        hint="append fewer records at once, or raise the limit: "
        f"lastword topic alter {topic} --config max.message.bytes=BYTES",
    )


def check_records(records: Sequence[Write], partition: int) -> None:
    """Raise InvalidRecordError if one of them cannot be written to this partition."""
    for record in records:
        error = why_invalid(record)
        if error is None and record.partition not in (ANY_PARTITION, partition):
            error = InvalidRecordError(
                f"a record for partition {record.partition} cannot be appended to {partition}",
                hint="send it to the owner of its own partition",
            )
        if error is not None:
            raise error
