"""Reads with the Kafka client, whose messages are Python objects, without the C module."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from lastword.column_batch import ColumnBatch
from lastword.kafka.connection import Connection
from lastword.kafka.log.collector_pause import COLLECTOR_PAUSED
from lastword.kafka.log.consumer_reader import (
    MESSAGES_PER_POLL,
    ConsumerReader,
    FailedRead,
    reader_settings,
)
from lastword.lazy_numpy import np
from lastword.records import Batch, Headers

log = logging.getLogger(__name__)

_TIME = itemgetter(1)  # a message's timestamp is its kind and the time


class ClientReader(ConsumerReader):
    """A ``LogReader`` whose batches are ``ColumnBatch``."""

    def __init__(self, connection: Connection, topic: str, *, queue_bytes: int) -> None:
        super().__init__(topic)
        self._settings = reader_settings(connection, queue_bytes) | {"error_cb": _note_error}

    @cached_property
    def _consumer(self) -> Consumer:
        return Consumer(self._settings)

    def _assign(self, partition: int, offset: int, leader_epoch: int) -> None:
        place = TopicPartition(self._topic, partition, offset, "", leader_epoch)
        if leader_epoch < 0:
            place = TopicPartition(self._topic, partition, offset)
        self._consumer.incremental_assign([place])

    def _release(self, partition: int) -> None:
        self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])

    def _take(self, timeout_s: float) -> tuple[list[Batch], list[FailedRead]]:
        # One poll, then what is queued: consume(n, timeout) alone would wait for n messages.
        first = self._consumer.poll(timeout_s)
        if first is None:
            return [], []
        with COLLECTOR_PAUSED:  # not while it waits: a live table waits all the time
            messages = [first, *self._consumer.consume(MESSAGES_PER_POLL - 1, 0)]
            failed = [message for message in messages if message.error() is not None]
            if failed:
                messages = [message for message in messages if message.error() is None]
            batches: list[Batch] = list(_batches(messages))
            failures = list(map(_failed_read, failed))
            # Freed before the collector is back on, which counts live objects.
            del first, messages, failed
            return batches, failures

    def _position(self, partition: int) -> tuple[int, int]:
        (at,) = self._consumer.position([TopicPartition(self._topic, partition)])
        return at.offset, -1 if at.leader_epoch is None else at.leader_epoch

    def _free(self) -> None:
        self._consumer.close()


def _failed_read(message: Message) -> FailedRead:
    error, offset = message.error(), message.offset()
    at = -1 if offset is None else offset
    return FailedRead(message.partition(), at, error.code(), error.str(), error.fatal())


def _note_error(error: KafkaError) -> None:
    """Broker up and down: librdkafka reconnects by itself, and the monitor handles the rest."""
    log.debug("reader: %s", error.str())


def _batches(messages: list[Message]) -> Iterator[ColumnBatch]:
    """One batch per partition, in offset order."""
    if not messages:
        return
    partitions = [message.partition() for message in messages]
    first = partitions[0]
    if partitions.count(first) == len(partitions):
        yield _batch(first, messages)
        return
    groups: dict[int, list[Message]] = {}
    for partition, message in zip(partitions, messages, strict=True):
        groups.setdefault(partition, []).append(message)
    for partition, group in groups.items():
        yield _batch(partition, group)


def _batch(partition: int, messages: list[Message]) -> ColumnBatch:
    last = messages[-1]
    epoch = last.leader_epoch()
    headers, unreadable = _headers(messages)
    times = map(_TIME, map(Message.timestamp, messages))
    return ColumnBatch(
        partition=partition,
        keys=list(map(Message.key, messages)),
        values=list(map(Message.value, messages)),
        offsets=np.fromiter(map(Message.offset, messages), np.int64, len(messages)),
        timestamps=np.fromiter(times, np.int64, len(messages)),
        headers=headers,
        next_offset=last.offset() + 1,
        leader_epoch=-1 if epoch is None else epoch,
        unreadable_headers=unreadable,
    )


def _headers(messages: list[Message]) -> tuple[list[Headers | None], list[int]]:
    """The headers of each message, and the offsets of those whose headers cannot be read.

    For a name that is not UTF-8 the client returns broken pairs *and* sets an exception. Called by
    ``map``, that is an error at once; called directly, the interpreter may notice it lines later.
    Each message is asked once, because the second answer would be the broken pairs without an
    error.
    """
    headers: list[Any] = []
    unreadable: list[int] = []
    answers = map(Message.headers, messages)
    while len(headers) < len(messages):
        try:
            headers.extend(answers)
        except (SystemError, UnicodeDecodeError):
            unreadable.append(messages[len(headers)].offset())
            headers.append(None)
    if any(headers):
        headers = [tuple(each) if each else None for each in headers]
    return headers, unreadable
