"""Sends records and reports what became of each: written, refused, or unknown."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import InvalidRecordError, LastwordError, WriteError, WriteFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.forks import never_free, track
from lastword.kafka.write.errors import no_answer, write_error
from lastword.kafka.write.live_producer import LiveProducer, Outgoing, Report, Reports
from lastword.records import Version

__all__ = ["BATCH_BYTES_MAX", "Delivery", "Outgoing", "RecordProducer"]

log = logging.getLogger(__name__)

BATCH_BYTES_MAX = 1_000_000

_SETTINGS: Mapping[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
    "linger.ms": 0,
    # The broker's and the topic's limits decide how large a record may be, not this client's.
    "message.max.bytes": 128 << 20,
}


@dataclass(slots=True)
class Delivery:
    """What became of one record: a version, or the error that says what is known.

    Both are set for a record that was written but could not be read back in time.
    """

    version: Version | None = None
    error: LastwordError | None = None


class RecordProducer:
    """An idempotent producer for one topic, safe to use from any thread.

    ``batch_bytes`` must not be more than the topic's ``max.message.bytes``: the broker refuses a
    larger batch with every record in it, and so a record that is too large is in one of its own.

    ``send`` returns once every record has an outcome or ``timeout_s`` has passed; a record
    without an answer by then is reported as indeterminate, never as failed. A producer that
    failed for good is replaced by the next call: what it had not taken has failed, what was in
    flight is indeterminate.
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
        self._settings = connection.librdkafka() | dict(_SETTINGS)
        self._settings["message.timeout.ms"] = int(timeout_s * 1000)
        self._settings["batch.size"] = min(batch_bytes, BATCH_BYTES_MAX)
        self._replacing = threading.Lock()
        self._closed = False
        self._live = self._start()
        track(self)

    def after_fork(self) -> None:
        """The next call starts a producer of the child's own; what is in flight is the parent's."""
        never_free(self._live)
        self._live.failure = "this process is a fork of the one that sent it"
        self._replacing = threading.Lock()

    def send(self, records: Sequence[Outgoing]) -> list[Delivery]:
        """Write ``records`` in order and wait for the outcome of each."""
        if not records:
            return []
        deadline = self._clock.monotonic() + self.timeout_s
        live = self._usable()
        deliveries = self._send_by(live, records, deadline)
        if live.failure is not None and not any(map(_was_sent, deliveries)):
            # It failed before it had taken any of them: a new one puts nothing out of order.
            deliveries = self._send_by(self._usable(), records, deadline)
        return deliveries

    def post(self, records: Sequence[Outgoing]) -> None:
        """Write without waiting, for records whose loss is made good later."""
        live = self._usable()
        for record in records:
            error = _why_invalid(record) or live.enqueue(record, None, self._clock.monotonic())
            if error is not None:
                log.warning("%s: a record was not queued: %s", self._topic, error)

    def close(self) -> None:
        """Wait for what is in flight, within the timeout; idempotent."""
        with self._replacing:
            if self._closed:
                return
            self._closed = True
        self._live.close()

    def _send_by(
        self, live: LiveProducer, records: Sequence[Outgoing], deadline: float
    ) -> list[Delivery]:
        reports = Reports(len(records))
        refused: dict[int, WriteError] = {}
        with live.expecting(reports):
            for i, record in enumerate(records):
                error = _why_invalid(record) or live.enqueue(record, reports.callback(i), deadline)
                if error is not None:
                    refused[i] = error
                    reports.leave_out()
            # librdkafka gives up by itself at its message timeout; a second more for its report.
            reports.settled.wait(max(0.0, deadline - self._clock.monotonic()) + 1.0)
        silence = reports.given_up or "no answer in time"
        return [
            Delivery(error=refused[i]) if i in refused else self._delivery(report, silence)
            for i, report in enumerate(reports.of)
        ]

    def _delivery(self, report: Report | None, silence: str) -> Delivery:
        if report is None:
            return Delivery(error=no_answer(self._topic, silence))
        if report.error is not None:
            return Delivery(error=write_error(report.error, self._topic))
        return Delivery(version=Version(report.partition, report.offset))

    def _usable(self) -> LiveProducer:
        with self._replacing:
            if self._live.failure is not None and not self._closed:
                self._live = self._start()
            return self._live

    def _start(self) -> LiveProducer:
        return LiveProducer(
            self._settings, self._topic, timeout_s=self.timeout_s, clock=self._clock
        )


def _was_sent(delivery: Delivery) -> bool:
    return not isinstance(delivery.error, InvalidRecordError | WriteFailedError)


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
