"""Writes records and source positions in one Kafka transaction, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from lastword.errors import (
    ConfigError,
    ConnectionFailedError,
    FencedError,
    LastwordError,
    TakenOverError,
)
from lastword.kafka.admin.client_failures import raised_error
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.records import Headers, TopicPartition

TRANSACTION_TIMEOUT_MS = 60_000
_CALL_S = 60.0
_ROOM_S = 0.05
# librdkafka connects, learns the broker's name and connects again. Told to begin in between, it
# waits for half a second: measured in a third of all cases, and in none after two answers.
_SETTLES_WITH = "__transaction_state"

PositionsAt = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, Committed]]
"""(next offset of each place written) -> the positions to commit with the records."""

_NOT_A_MEMBER = frozenset(
    (
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.ILLEGAL_GENERATION,
    )
)


NOW = 0
"""As a timestamp: the moment of writing. librdkafka cannot write the first millisecond of 1970."""


Output = tuple[bytes | None, bytes | None, int, Headers]
"""A record to be written: key, value (None is a tombstone), timestamp in ms, and headers."""


class TransactionWriter:
    """One transactional id. Only the last one to ``take_over`` an id can commit with it.

    Not safe across threads. After an error make a new one: only its ``take_over`` shows the outcome
    of the last transaction.
    """

    def __init__(self, connection: Connection, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        settings = connection.librdkafka() | {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "acks": "all",
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 500_000,
            # When its last connection breaks, librdkafka would forget all brokers and start again
            # from the bootstrap servers. Positions in flight then wait for the
            # coordinator it forgot: measured, over a minute instead of 30 ms.
            "metadata.recovery.strategy": "none",
        }
        self._producer = Producer(settings)

    def take_over(self) -> None:
        """End the open transaction of an earlier holder of the id, and fence it."""
        for _ in range(2):
            self._call(lambda: self._producer.list_topics(_SETTLES_WITH, _CALL_S))
        self._call(lambda: self._producer.init_transactions(_CALL_S))

    def write(
        self,
        outputs: Mapping[TopicPartition, Sequence[Output]],
        positions_at: PositionsAt,
        group_metadata: bytes,
    ) -> dict[TopicPartition, int]:
        """Commit records and positions together; returns the next offset of each place written.

        ``group_metadata`` proves the membership in the group that the positions belong to. Raises
        FencedError when that has ended, and TakenOverError when the id has a new holder.
        """
        self._call(self._producer.begin_transaction)
        try:
            ends = self._produce_all(outputs)
            positions = [
                KafkaPartition(each.topic, each.partition, at.offset, at.metadata)
                for each, at in positions_at(ends).items()
            ]
            self._call(
                lambda: self._producer.send_offsets_to_transaction(
                    positions, group_metadata, _CALL_S
                )
            )
            self._call(lambda: self._producer.commit_transaction(_CALL_S))
        except TakenOverError:
            raise
        except BaseException:
            # The first error counts. If this fails too, the next take-over ends the transaction.
            with suppress(LastwordError):
                self._call(lambda: self._producer.abort_transaction(_CALL_S))
            raise
        return ends

    def _produce_all(
        self, outputs: Mapping[TopicPartition, Sequence[Output]]
    ) -> dict[TopicPartition, int]:
        """Send everything and wait; only the last record of each partition has a callback."""
        ends: dict[TopicPartition, int] = {}
        written = {each: records for each, records in outputs.items() if records}
        for each, records in written.items():
            self._produce(each, records[:-1], None)
            self._produce(each, records[-1:], _report_into(ends, each))
        self._call(lambda: self._producer.flush(_CALL_S))
        if len(ends) != len(written):
            raise ConnectionFailedError("not every record of the transaction was acknowledged")
        return ends

    def _produce(
        self,
        each: TopicPartition,
        records: Sequence[Output],
        on_delivery: Callable[..., None] | None,
    ) -> None:
        """Positional arguments and no repeated lookups: this runs once for every update."""
        produce, (topic, partition) = self._producer.produce, each
        for key, value, timestamp_ms, headers in records:
            given = list(headers) if headers else None
            try:
                produce(topic, value, key, partition, on_delivery, None, timestamp_ms, given)
            except BufferError:
                self._produce_with_room(
                    topic, value, key, partition, on_delivery, None, timestamp_ms, given
                )
            except KafkaException as error:
                raise self._failure(error.args[0]) from error

    def _produce_with_room(self, *record: Any) -> None:
        """Wait until some records in flight are delivered."""
        while True:
            self._call(lambda: self._producer.poll(_ROOM_S))
            try:
                self._producer.produce(*record)
            except BufferError:
                continue
            except KafkaException as error:
                raise self._failure(error.args[0]) from error
            return

    def _call(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except (KafkaException, SystemError) as raised:
            error = raised_error(raised)
            if error is None:
                raise
            raise self._failure(error) from raised

    def _failure(self, error: KafkaError) -> LastwordError:
        if error.code() in _NOT_A_MEMBER:
            return FencedError(
                f"the group membership of {self.transactional_id!r} has ended: {error.str()}",
                hint="another driver runs this application now; stop this one",
            )
        if error.code() == KafkaError.OFFSET_METADATA_TOO_LARGE:
            return ConfigError(
                f"the metadata that {self.transactional_id!r} commits with its positions is "
                "larger than the brokers accept",
                hint="raise offset.metadata.max.bytes on the brokers (4096 by default), give "
                "stores shorter names, or spread them over several applications",
            )
        if error.fatal():
            return TakenOverError(f"{self.transactional_id!r} has a new holder: {error.str()}")
        return ConnectionFailedError(f"the transaction failed: {error.str()}")


def _report_into(ends: dict[TopicPartition, int], each: TopicPartition) -> Callable[..., None]:
    def on_delivery(error: KafkaError | None, message: Any) -> None:
        if error is None:
            ends[each] = message.offset() + 1

    return on_delivery
