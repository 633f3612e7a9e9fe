"""Sends records and reports what became of each: written, refused, or unknown."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import (
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    WriteError,
    WriteFailedError,
)
from lastword.kafka.connection import Connection
from lastword.records import NO_HEADERS, Headers, Version

log = logging.getLogger(__name__)

BATCH_BYTES_MAX = 1_000_000
CONNECT_TIMEOUT_S = 5.0

_SETTINGS: Mapping[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
    "linger.ms": 0,
    # The broker's and the topic's limits decide how large a record may be, not this client's.
    "message.max.bytes": 128 << 20,
}

_UNKNOWN_OUTCOME = frozenset(
    (
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._FATAL,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    )
)
_TOO_LARGE = frozenset((KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE))


class Outgoing(NamedTuple):
    """A record to write.

    Without a ``timestamp_ms`` it gets the time of writing; with ``partition`` -1 the partitioner
    chooses one by the key.
    """

    key: bytes
    value: bytes | None
    headers: Headers = NO_HEADERS
    timestamp_ms: int | None = None
    partition: int = -1


@dataclass(slots=True)
class Delivery:
    """What became of one record: a version, or the error that says what is known.

    Both are set for a record that was written but could not be read back in time.
    """

    version: Version | None = None
    error: LastwordError | None = None


class _Pending:
    """The deliveries of one call; its callbacks only store, since more may not survive there."""

    def __init__(self, size: int) -> None:
        self.reports: list[tuple[KafkaError | None, int, int] | None] = [None] * size
        self._missing = size
        self._lock = threading.Lock()
        self.done = threading.Event()

    def callback(self, index: int) -> Any:
        def on_delivery(error: KafkaError | None, message: Any) -> None:
            self.settle(index, (error, message.partition(), message.offset()))

        return on_delivery

    def settle(self, index: int, report: tuple[KafkaError | None, int, int]) -> None:
        self.reports[index] = report
        with self._lock:
            self._missing -= 1
            if self._missing == 0:
                self.done.set()


class RecordProducer:
    """An idempotent producer for one topic, safe to use from any thread.

    ``batch_bytes`` must not be more than the topic's ``max.message.bytes``: the broker refuses a
    larger batch with every record in it, and so a record that is too large is in one of its own.

    ``send`` returns once every record has an outcome or ``timeout_s`` has passed; a record
    without an answer by then is reported as indeterminate, never as failed.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        *,
        batch_bytes: int,
        timeout_s: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.timeout_s = timeout_s
        self._topic = topic
        self._clock = clock
        settings = connection.librdkafka() | dict(_SETTINGS)
        settings["message.timeout.ms"] = int(timeout_s * 1000)
        settings["batch.size"] = min(batch_bytes, BATCH_BYTES_MAX)
        self._producer = Producer(settings)
        self._acquire_producer_id()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"producer-{topic}", daemon=True)
        self._thread.start()

    def send(self, records: Sequence[Outgoing]) -> list[Delivery]:
        """Write ``records`` in order and wait for the outcome of each."""
        if not records:
            return []
        pending = _Pending(len(records))
        deadline = self._clock.monotonic() + self.timeout_s
        refused: dict[int, WriteError] = {}
        for index, record in enumerate(records):
            error = self._enqueue(record, pending.callback(index), deadline)
            if error is not None:
                refused[index] = error
                pending.settle(index, (None, -1, -1))
        # librdkafka gives up by itself at its message timeout; the second more is for its report.
        pending.done.wait(max(0.0, deadline - self._clock.monotonic()) + 1.0)
        return [
            Delivery(error=refused[i]) if i in refused else self._delivery(report)
            for i, report in enumerate(pending.reports)
        ]

    def post(self, records: Sequence[Outgoing]) -> None:
        """Write without waiting, for records whose loss is made good later."""
        for record in records:
            error = self._enqueue(record, None, self._clock.monotonic())
            if error is not None:
                log.warning("%s: a record was not queued: %s", self._topic, error)

    def close(self) -> None:
        """Wait for what is in flight, within the timeout; idempotent."""
        if not self._closing.is_set():
            self._closing.set()
            self._thread.join()
            left = self._producer.flush(self.timeout_s)
            if left:
                log.warning("%s: %d records have no outcome at close", self._topic, left)

    def _acquire_producer_id(self) -> None:
        """Spare the first record a wait of 500 ms.

        librdkafka asks a broker for the id only when metadata arrives or a timer of 500 ms
        fires. The first metadata comes from a bootstrap server, which does not count as a
        broker yet; the second is what sets it off.
        """
        try:
            for _ in range(2):
                self._producer.list_topics(
                    self._topic, timeout=min(self.timeout_s, CONNECT_TIMEOUT_S)
                )
        except KafkaException as error:
            log.debug("%s: no producer id yet, the first write will wait: %s", self._topic, error)

    def _enqueue(self, record: Outgoing, on_delivery: Any, deadline: float) -> WriteError | None:
        invalid = _why_invalid(record)
        while invalid is None:
            try:
                self._producer.produce(
                    self._topic,
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers),
                    timestamp=record.timestamp_ms or 0,
                    partition=record.partition,
                    on_delivery=on_delivery,
                )
            except BufferError:
                if self._clock.monotonic() >= deadline:
                    return WriteFailedError(
                        "the queue of unsent records stayed full",
                        hint="write fewer at once; is the cluster reachable?",
                    )
                self._producer.poll(0.05)
            except KafkaException as error:
                return _write_error(error.args[0], self._topic)
            else:
                return None
        return invalid

    def _delivery(self, report: tuple[KafkaError | None, int, int] | None) -> Delivery:
        if report is None:
            return Delivery(error=_no_answer(self._topic, "no answer in time"))
        error, partition, offset = report
        if error is None:
            return Delivery(version=Version(partition, offset))
        return Delivery(error=_write_error(error, self._topic))

    def _serve(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(0.1)


def _why_invalid(record: Outgoing) -> InvalidRecordError | None:
    if not record.key:
        return InvalidRecordError(
            "a record of a table needs a key of at least one byte",
            hint="compaction keeps the last record per key; without a key there is none",
        )
    if record.timestamp_ms is not None and record.timestamp_ms <= 0:
        # To librdkafka 0 means "now": better refused than silently replaced.
        return InvalidRecordError(
            f"a record cannot have the timestamp {record.timestamp_ms}",
            hint="give milliseconds since the epoch from 1 up, or None for the time of writing",
        )
    if not all(map(_is_header, record.headers)):
        return InvalidRecordError(
            f"{record.headers!r} are not headers of a record",
            hint="give pairs of a name and bytes or None: headers=(('trace', b'42'),)",
        )
    return None


def _is_header(header: Any) -> bool:
    match header:
        case (str(), bytes() | None):
            return True
    return False


def _write_error(error: KafkaError, topic: str) -> WriteError:
    code = error.code()
    if code in _UNKNOWN_OUTCOME or error.fatal():
        return _no_answer(topic, error.str())
    if code in _TOO_LARGE:
        return InvalidRecordError(
            f"{topic} does not take a record that large: {error.str()}",
            hint=f"raise it with: lastword topic alter {topic} --config max.message.bytes=BYTES",
        )
    return WriteFailedError(f"{topic} did not take the record: {error.str()}")


def _no_answer(topic: str, reason: str) -> IndeterminateError:
    return IndeterminateError(
        f"{topic}: {reason}: the record may or may not have been written",
        hint="read the key to find out, or write the same value again",
    )
