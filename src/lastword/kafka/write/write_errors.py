"""The errors of a write: refused, not sent, or unknown."""

from __future__ import annotations

from confluent_kafka import KafkaError

from lastword.errors import IndeterminateError, InvalidRecordError, WriteError, WriteFailedError

_UNKNOWN_OUTCOME = frozenset(
    (
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._PURGE_QUEUE,  # an earlier attempt may have been on its way
        KafkaError._FATAL,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        # Of the producer, not of the record: an earlier attempt may have been appended.
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )
)
_TOO_LARGE = frozenset((KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE))


def write_error(error: KafkaError, topic: str) -> WriteError:
    """The error to raise for the delivery error of one record."""
    code = error.code()
    if code in _UNKNOWN_OUTCOME or error.fatal():
        return no_answer(topic, error.str())
    if code in _TOO_LARGE:
        return InvalidRecordError(
            f"the record is too large for {topic}: {error.str()}",
            hint=f"raise it with: lastword topic alter {topic} --config max.message.bytes=BYTES",
        )
    return WriteFailedError(f"{topic} did not accept the record: {error.str()}")


def no_answer(topic: str, reason: str) -> IndeterminateError:
    """The record was sent, and its outcome is unknown."""
    return IndeterminateError(
        f"{topic}: {reason}: the record may or may not have been written",
        hint="read the key to find out, or write the same value again",
    )


def never_sent(topic: str, reason: str) -> WriteFailedError:
    """The record was not sent, so it certainly was not written."""
    return WriteFailedError(
        f"{topic}: the record was not sent, because the producer has failed: {reason}",
        hint="write it again: a new producer takes over",
    )


def closed(topic: str) -> WriteFailedError:
    """The record came after the close, so it certainly was not written."""
    return WriteFailedError(
        f"{topic}: the record was not sent, because the writer is closed",
        hint="open the table, or the event log, again and write it there",
    )
