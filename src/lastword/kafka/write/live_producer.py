"""One producer of librdkafka and the thread that serves it, until it fails or is closed.

After a fatal error (the broker and the producer disagree about its sequence of records) librdkafka
accepts no more records. The thread survives it: it waits briefly for records in flight, reports
the rest as unknown, and ends. The owner of the producer makes a new one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from lastword.clock import Clock
from lastword.errors import WriteError, WriteFailedError
from lastword.kafka.admin.client_failures import raised_error
from lastword.kafka.write.write_errors import closed, never_sent, write_error
from lastword.records import Write

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 5.0
_POLL_S = 0.1
_ROOM_S = 0.05
_LAST_ANSWERS_S = 1.0


class DeliveryReport(NamedTuple):
    """The delivery report of one record."""

    error: KafkaError | None
    partition: int
    offset: int


class Reports:
    """The delivery reports of one call; ``settled`` is set once all are there.

    ``given_up`` is why the rest has no report. The callbacks only store: librdkafka may call them
    while an exception is being raised, and more would not survive that.
    """

    def __init__(self, size: int) -> None:
        self.of: list[DeliveryReport | None] = [None] * size
        self.given_up: str | None = None
        self.settled = threading.Event()
        self._missing = size
        self._lock = threading.Lock()

    def callback(self, index: int) -> Callable[[KafkaError | None, Any], None]:
        """What to call with the report of one record."""

        def on_delivery(error: KafkaError | None, message: Any) -> None:
            self.of[index] = DeliveryReport(error, message.partition(), message.offset())
            self.leave_out()

        return on_delivery

    def leave_out(self) -> None:
        """One record less to wait for."""
        with self._lock:
            self._missing -= 1
            if self._missing == 0:
                self.settled.set()

    def give_up(self, reason: str) -> None:
        """No more reports will come."""
        self.given_up = reason
        self.settled.set()


class LiveProducer:
    """Enqueues records and has their reports delivered. Safe to use from any thread.

    ``failure`` is why nothing more can be sent, once that is so.
    """

    def __init__(
        self, settings: Mapping[str, Any], topic: str, *, timeout_s: float, clock: Clock
    ) -> None:
        self.failure: str | None = None
        self._topic = topic
        self._timeout_s = timeout_s
        self._clock = clock
        self._producer = Producer(dict(settings))
        self._acquire_producer_id()
        self._waiting: set[Reports] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=f"producer-{topic}", daemon=True)
        self._thread.start()

    @contextmanager
    def expecting(self, reports: Reports) -> Iterator[None]:
        """During the block, ``reports`` are settled if the producer fails."""
        with self._lock:
            self._waiting.add(reports)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(reports)

    def enqueue(self, record: Write, on_delivery: Any, deadline: float) -> WriteError | None:
        """Queue a record, waiting for room until ``deadline``; return the error, if any."""
        key, value, headers, timestamp_ms, partition, _, _ = record
        given = list(headers) if headers else None
        while self.failure is None:
            try:
                # By position, in half the time: this runs once for every record.
                self._producer.produce(
                    self._topic,
                    value,
                    key,
                    partition,
                    on_delivery,
                    None,
                    timestamp_ms or 0,
                    given,
                )
            except BufferError:
                if self._clock.monotonic() >= deadline:
                    return WriteFailedError(
                        "the queue of unsent records stayed full",
                        hint="write fewer at once; is the cluster reachable?",
                    )
                self._poll(_ROOM_S)
            except KafkaException as error:
                if not self._is_fatal(error.args[0]):
                    return write_error(error.args[0], self._topic)
            else:
                return None
        return closed(self._topic) if self._closed else never_sent(self._topic, self.failure)

    def close(self) -> None:
        """Wait for records in flight, within the timeout; no record is accepted after that."""
        self._closing.set()
        self._thread.join()
        if self.failure is not None:
            return
        deadline = self._clock.monotonic() + self._timeout_s
        while not self._take_no_more(at_once=self._clock.monotonic() >= deadline):
            self._poll(_ROOM_S)
        if left := len(self._producer):
            log.warning("%s: %d records have no outcome at close", self._topic, left)

    def _acquire_producer_id(self) -> None:
        """Spare the first record a wait of 500 ms.

        librdkafka asks a broker for the id only when metadata arrives or a timer of 500 ms
        fires. The first metadata comes from a bootstrap server, which does not count as a
        broker yet; the second is what sets it off.
        """
        timeout_s = min(self._timeout_s, CONNECT_TIMEOUT_S)
        try:
            for _ in range(2):
                self._producer.list_topics(self._topic, timeout=timeout_s)
        except KafkaException as error:
            log.debug("%s: no producer id yet, the first write will wait: %s", self._topic, error)

    def _take_no_more(self, *, at_once: bool) -> bool:
        """Refuse further records once no call waits for a report, or ``at_once``."""
        with self._lock:
            busy = self._waiting or len(self._producer)
            if busy and self.failure is None and not at_once:
                return False
            self._closed = True
            self.failure = self.failure or "the writer was closed"
            for reports in self._waiting:
                reports.give_up(self.failure)
        return True

    # -- the serving thread --------------------------------------------------------------------

    def _serve(self) -> None:
        while self.failure is None and not self._closing.is_set():
            self._poll(_POLL_S)
        if self.failure is not None:
            self._wind_up(self.failure)

    def _wind_up(self, failure: str) -> None:
        """Wait for the answers of healthy partitions; the others never answer."""
        log.warning("%s: the producer has failed and is replaced: %s", self._topic, failure)
        self._last_answers(_LAST_ANSWERS_S)
        self._producer.purge()
        self._poll(0)
        with self._lock:
            for reports in self._waiting:
                reports.give_up(failure)

    def _last_answers(self, timeout_s: float) -> None:
        deadline = self._clock.monotonic() + timeout_s
        while len(self._producer) and self._clock.monotonic() < deadline:
            self._poll(_ROOM_S)

    def _poll(self, timeout_s: float) -> None:
        """Have callbacks called; what the client raises meanwhile does not end the thread."""
        try:
            self._producer.poll(timeout_s)
        except (KafkaException, SystemError) as raised:
            error = raised_error(raised)
            if error is None or not self._is_fatal(error):
                log.warning("%s: serving the producer: %s", self._topic, raised)
                self._closing.wait(_POLL_S)  # it may be the same every time

    def _is_fatal(self, error: KafkaError) -> bool:
        """Whether the producer has failed for good; ``produce`` reports it only by the code."""
        fatal = error.fatal() or error.code() == KafkaError._FATAL
        if fatal and self.failure is None:
            self.failure = error.str()
        return bool(fatal)
