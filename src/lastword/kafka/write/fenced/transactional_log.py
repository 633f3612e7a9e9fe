"""Appends under a fence with librdkafka: one transaction per batch.

Slower than plain batches, but every broker with transactions rejects what a deposed holder sends.
After an error that may leave a transaction open, the producer is discarded, and the next take-over
ends the transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import KafkaError

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import LastwordError, WriteError
from lastword.kafka.admin.client_failures import failure
from lastword.kafka.admin.transactions import holder_of
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced.append_errors import (
    fenced,
    not_held,
    not_written,
    too_large,
    unknown,
)
from lastword.kafka.write.fenced.fence import Holder
from lastword.kafka.write.fenced.held_log import TIMEOUT_S, HeldLog, Taken
from lastword.kafka.write.fenced.transactional_producer import CallError, Transactions
from lastword.records import Write

_FENCED = frozenset(
    (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    )
)
_TOO_LARGE = frozenset((KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE))
_BATCH_HEADER_BYTES = 61
_OVERHEAD_BYTES = 32  # lengths, attributes and deltas at their maximum


class TransactionalLog(HeldLog):
    """A ``FencedLog`` of one transaction per batch.

    ``batch_bytes`` must not exceed the topic's ``max.message.bytes``. No single record may be
    larger, before compression.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partition: int,
        transactional_id: str,
        *,
        batch_bytes: int,
        timeout_s: float = TIMEOUT_S,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        super().__init__(
            connection, topic, partition, transactional_id, timeout_s=timeout_s, clock=clock
        )
        self._batch_bytes = batch_bytes
        timeout_ms = int(timeout_s * 1000)
        settings = connection.librdkafka()
        self._settings = settings | {
            # librdkafka does not allow a request timeout longer than the transaction timeout.
            "socket.timeout.ms": min(int(settings["socket.timeout.ms"]), timeout_ms),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,
            "acks": "all",
            "compression.type": "lz4",
            "linger.ms": 0,
            "batch.size": batch_bytes,
            "message.max.bytes": 128 << 20,  # the topic's limit applies, not the client's
        }
        self._client: Transactions | None = None

    def renew(self) -> None:
        """Do nothing: a coordinator that forgot the id rejects its holder's transactions."""

    def _init(self, deadline: float) -> Taken:
        self._client = client = Transactions(self._settings, self._topic, self._partition)
        try:
            client.init(lambda: self._left(deadline))
        except CallError as raised:
            raise self._why_not_taken_over(raised.error) from raised
        # A later take-over would fence our first append, so until then the answer is about us.
        producer_id, epoch, known = holder_of(
            self._connection, self._transactional_id, self._topic, self._partition
        )
        return Taken(Holder(producer_id, epoch), known)

    def _check_fence(self, deadline: float) -> None:
        """Do nothing: transactions guarantee that a new holder fences the old ones."""

    def _send(self, records: Sequence[Write], deadline: float) -> list[int]:
        client = self._client
        if client is None:
            raise not_held(self._place)
        # Checked here: after a rejection by the broker the partition must be taken over again.
        if (size := max(map(_size, records))) > self._batch_bytes:
            raise too_large(self._place, self._topic, f"a record of {size} bytes")
        try:
            offsets = client.send(records, lambda: self._left(deadline))
        except CallError as raised:
            self._drop()
            raise self._why_not_written(raised.error) from raised
        try:
            client.commit(lambda: self._left(deadline))
        except CallError as raised:
            # The commit may have succeeded although its answer, or a retry, failed.
            self._drop()
            raise unknown(self._place, str(raised)) from raised
        return offsets

    def _why_not_written(self, error: KafkaError) -> WriteError:
        """Without a commit the records are certainly invisible, now and later."""
        if error.code() in _FENCED:
            return fenced(self._place, error.str())
        if error.code() in _TOO_LARGE:
            return too_large(self._place, self._topic, error.str())
        return not_written(self._place, error.str())

    def _why_not_taken_over(self, error: KafkaError) -> LastwordError:
        if error.code() in _FENCED:
            return fenced(self._place, error.str())
        return failure(
            error,
            doing=f"taking over {self._place}",
            servers=self._connection.bootstrap_servers,
            topic=self._topic,
        )

    def _free(self) -> None:
        self._client = None

    def _abandon(self) -> None:
        self._client = None


def _size(record: Write) -> int:
    """The maximum size of a record in a batch of its own."""
    headers = sum(
        _OVERHEAD_BYTES + len(name) * 4 + len(value or b"") for name, value in record.headers
    )
    return (
        _BATCH_HEADER_BYTES + _OVERHEAD_BYTES + len(record.key) + len(record.value or b"") + headers
    )
