"""Sends records and reports the outcome of each: written, refused, or unknown."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import InvalidRecordError, WriteError, WriteFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.forks import track
from lastword.kafka.write.live_producer import DeliveryReport, LiveProducer, Reports
from lastword.kafka.write.validity import why_invalid
from lastword.kafka.write.write_errors import closed, no_answer, write_error
from lastword.records import Version, Write

log = logging.getLogger(__name__)

BATCH_BYTES_MAX = 1_000_000
_UNKNOWN_TOPIC_S = 5.0

_SETTINGS: Mapping[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
    "linger.ms": 0,
    # The broker's and the topic's limits decide how large a record may be, not this client's.
    "message.max.bytes": 128 << 20,
}


Delivery = Version | WriteError
"""The outcome of one record: its version, or an error."""


class RecordProducer:
    """An idempotent producer for one topic, safe to use from any thread.

    It connects on the first call. It appends unconditionally, so it refuses a record with an
    ``expected`` version.

    ``batch_bytes`` must not be more than the topic's ``max.message.bytes``: the broker refuses a
    larger batch with every record in it, so a record that is too large gets a separate batch.

    ``send`` returns once every record has an outcome or ``timeout_s`` has passed; a record without
    an answer by then is reported as indeterminate, never as failed. A producer that failed for good
    is replaced by the next call: records that it had not accepted have failed, records in flight
    are indeterminate. After ``close`` every record fails.
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
        # An unknown topic is a failure, reported before the time of its first record is over.
        unknown_s = min(_UNKNOWN_TOPIC_S, timeout_s / 2)
        self._settings["topic.metadata.propagation.max.ms"] = int(unknown_s * 1000)
        self._settings["batch.size"] = min(batch_bytes, BATCH_BYTES_MAX)
        self._replacing = threading.Lock()
        self._closed = False
        self._live: LiveProducer | None = None
        track(self)

    def after_fork(self) -> None:
        """In a forked child the next call starts a new producer."""
        if self._live is not None:
            self._live.failure = "this process is a fork of the one that sent it"
        self._replacing = threading.Lock()

    def connect(self) -> None:
        """Connect now, which may take seconds, instead of on the first call that writes."""
        self._usable()

    def send(self, records: Sequence[Write]) -> list[Delivery]:
        """Write ``records`` in order and wait for the outcome of each."""
        live = self._usable() if records else None
        if live is None:
            return [closed(self._topic) for _ in records]
        deadline = self._clock.monotonic() + self.timeout_s
        deliveries = self._send_by(live, records, deadline)
        if live.failure is not None and not any(map(_was_sent, deliveries)):
            # It failed before it accepted any of them: a new one keeps the order.
            successor = self._usable()
            if successor is not None:
                deliveries = self._send_by(successor, records, deadline)
        return deliveries

    def post(self, records: Sequence[Write]) -> None:
        """Write without waiting, for records that are sent again if they are lost."""
        live = self._usable() if records else None
        if live is None:
            return
        for record in records:
            error = why_invalid(record) or live.enqueue(record, None, self._clock.monotonic())
            if error is not None:
                log.warning("%s: a record was not queued: %s", self._topic, error)

    def close(self) -> None:
        """Wait for records in flight, within the timeout; idempotent."""
        with self._replacing:
            if self._closed:
                return
            self._closed = True
        if self._live is not None:
            self._live.close()

    def _send_by(
        self, live: LiveProducer, records: Sequence[Write], deadline: float
    ) -> list[Delivery]:
        reports = Reports(len(records))
        refused: dict[int, WriteError] = {}
        with live.expecting(reports):
            for i, record in enumerate(records):
                error = why_invalid(record) or live.enqueue(record, reports.callback(i), deadline)
                if error is not None:
                    refused[i] = error
                    reports.leave_out()
            # librdkafka gives up at its message timeout; one second more for its report.
            reports.settled.wait(max(0.0, deadline - self._clock.monotonic()) + 1.0)
        silence = reports.given_up or "no answer in time"
        return [
            refused[i] if i in refused else self._delivery(report, silence)
            for i, report in enumerate(reports.of)
        ]

    def _delivery(self, report: DeliveryReport | None, silence: str) -> Delivery:
        if report is None:
            return no_answer(self._topic, silence)
        if report.error is not None:
            return write_error(report.error, self._topic)
        return Version(report.partition, report.offset)

    def _usable(self) -> LiveProducer | None:
        """The producer that accepts records now; None after ``close``."""
        with self._replacing:
            if self._closed:
                return None
            if self._live is None or self._live.failure is not None:
                self._live = self._start()
            return self._live

    def _start(self) -> LiveProducer:
        return LiveProducer(
            self._settings, self._topic, timeout_s=self.timeout_s, clock=self._clock
        )


def _was_sent(delivery: Delivery) -> bool:
    return not isinstance(delivery, InvalidRecordError | WriteFailedError)
