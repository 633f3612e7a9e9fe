"""The direct path: records are appended to the topic regardless of the current version."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.expiry import with_expiry
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import RecordProducer
from lastword.keyspace import Keyspace
from lastword.records import ANY_PARTITION, Write
from lastword.writer.outcome import Outcome, outcome_of

WRITE_TIMEOUT_S = 30.0


class DirectWriter:
    """A WritePath that returns when the cluster has acknowledged. Connects on the first write.

    ``batch_bytes`` is the topic's limit for a batch (its ``max.message.bytes``).
    ``keyspace`` is needed where only a part of a key decides its partition; without it, the whole
    key does. A time to live is counted from the moment of sending, by ``clock``.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        *,
        batch_bytes: int,
        timeout_s: float,
        keyspace: Keyspace | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._keyspace = keyspace
        self._clock = clock
        self._producer = RecordProducer(
            connection, topic, batch_bytes=batch_bytes, timeout_s=timeout_s, clock=clock
        )

    def write(self, records: Sequence[Write]) -> list[Outcome]:
        """Send ``records`` in order and wait for the answer to each."""
        deliveries = self._producer.send(self._placed(records))
        return [
            outcome_of(record.key, delivery)
            for record, delivery in zip(records, deliveries, strict=True)
        ]

    def post(self, records: Sequence[Write]) -> None:
        """Send without waiting, for records that are sent again if they are lost."""
        self._producer.post(self._placed(records))

    def connect(self) -> None:
        """Connect now, which may take seconds, instead of on the first write."""
        self._producer.connect()

    def close(self) -> None:
        """Wait for records in flight; idempotent."""
        self._producer.close()

    def _placed(self, records: Sequence[Write]) -> Sequence[Write]:
        keyspace = self._keyspace
        if any(record.ttl_ms is not None for record in records):
            records = [self._expiring(record) for record in records]
        if keyspace is None or not keyspace.suffix_bytes:
            return records  # librdkafka hashes the whole key, in the same way
        return [
            record._replace(partition=keyspace.partition_of(record.key))
            if record.partition == ANY_PARTITION
            else record
            for record in records
        ]

    def _expiring(self, record: Write) -> Write:
        if record.ttl_ms is None or record.value is None:
            return record
        headers = with_expiry(record.headers, record.ttl_ms, self._clock.now_ms())
        return record._replace(headers=headers, ttl_ms=None)
