"""librdkafka's transactions for one partition, each call with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from lastword.kafka.admin.client_failures import raised_error
from lastword.records import Write

SecondsLeft = Callable[[], float]

_ROOM_S = 0.05
_POLL_S = 0.1
# Delivery reports of records purged because of another record do not tell the reason.
_CONSEQUENCES = frozenset((KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._STATE))


class CallError(Exception):
    """A call to librdkafka failed with ``error``."""

    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.str())
        self.error = error


class Transactions:
    """One producer with a transactional id.

    After a CallError the producer is unusable: librdkafka 2.16 was seen to skip sequence numbers
    after an aborted transaction, so this class never aborts. The next ``init`` of the id ends the
    open transaction.
    """

    def __init__(self, settings: Mapping[str, Any], topic: str, partition: int) -> None:
        self._topic, self._partition = topic, partition
        self._producer = Producer(dict(settings))

    def init(self, left: SecondsLeft) -> None:
        """Fence the earlier holder of the id, and end its open transaction."""
        for _ in range(2):  # it connects twice; beginning in between would wait 500 ms
            topics = self._call(lambda: self._producer.list_topics(self._topic, left())).topics
        found = topics[self._topic]
        if found.error is not None:
            raise CallError(found.error)
        if self._partition not in found.partitions:
            raise CallError(KafkaError(KafkaError._UNKNOWN_PARTITION))
        self._call(lambda: self._producer.init_transactions(left()))

    def send(self, records: Sequence[Write], left: SecondsLeft) -> list[int]:
        """Begin a transaction and wait until every record is acknowledged; returns the offsets."""
        self._call(self._producer.begin_transaction)
        offsets: list[int] = []
        errors: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())
            else:
                errors.append(error)

        for record in records:
            self._produce(record, on_delivery, left)
        # Not flush(): after one record failed, it keeps the others until their timeout.
        while len(offsets) < len(records) and not errors and left():
            self._call(lambda: self._producer.poll(min(left(), _POLL_S)))
        if errors:
            raise CallError(next((e for e in errors if e.code() not in _CONSEQUENCES), errors[0]))
        if len(offsets) < len(records) or min(offsets) < 0:
            raise CallError(KafkaError(KafkaError._TIMED_OUT))
        return offsets

    def commit(self, left: SecondsLeft) -> None:
        """Commit the transaction. After an error its outcome is unknown."""
        self._call(lambda: self._producer.commit_transaction(left()))

    def _produce(self, record: Write, on_delivery: Any, left: SecondsLeft) -> None:
        key, value, headers, timestamp_ms, *_ = record
        given = list(headers) if headers else None
        place = (self._topic, value, key, self._partition)
        while True:
            try:
                self._call(
                    lambda: self._producer.produce(
                        *place, on_delivery, None, timestamp_ms or 0, given
                    )
                )
            except BufferError:
                if not left():
                    raise CallError(KafkaError(KafkaError._QUEUE_FULL)) from None
                self._call(lambda: self._producer.poll(_ROOM_S))
            else:
                return

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (KafkaException, SystemError) as raised:
            error = raised_error(raised)
            if error is None:
                raise
            raise CallError(error) from raised
