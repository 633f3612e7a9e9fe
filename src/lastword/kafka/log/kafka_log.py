"""Logs read by the Kafka client: a consumer per reader, which joins no group."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from lastword.column_batch import ColumnBatch
from lastword.errors import ConnectionFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import READER_GROUP
from lastword.kafka.log.collector_pause import COLLECTOR_PAUSED
from lastword.kafka.log.ranges import read_ranges
from lastword.kafka.log.source import (
    QUEUE_BYTES,
    STALL_TIMEOUT_S,
    EndOfLog,
    News,
    PositionLost,
    Ranges,
    Unreadable,
)
from lastword.records import Batch, Headers

log = logging.getLogger(__name__)

MESSAGES_PER_POLL = 4_000  # measured: more falls out of the processor's cache

# Measured: the default fetch.queue.backoff.ms of a second is what makes librdkafka slow, and
# larger queues only cost memory.
_SETTINGS: Mapping[str, Any] = {
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 100,
    "max.partition.fetch.bytes": 2 << 20,
    "queued.min.messages": 50_000,
    "check.crcs": True,
}

_CORRUPT = frozenset((KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION))
_FATAL_FOR_A_READER = frozenset(
    (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
    )
)

_TIME = itemgetter(1)  # a message's timestamp is its kind and the time


@dataclass(frozen=True)
class KafkaLog:
    """A ``LogSource``: the logs of the cluster that ``connection`` describes."""

    connection: Connection

    def follow(self, topic: str, *, queue_bytes: int = QUEUE_BYTES) -> KafkaLogReader:
        """A new reader of ``topic``."""
        return KafkaLogReader(self.connection, topic, queue_bytes=queue_bytes)

    def read(
        self,
        topic: str,
        ranges: Ranges,
        *,
        stall_timeout_s: float = STALL_TIMEOUT_S,
        stopping: Callable[[], bool] = lambda: False,
        queue_bytes: int = QUEUE_BYTES,
    ) -> Generator[Batch, None, None]:
        """Every committed record of ``ranges``, then stop."""
        return read_ranges(
            partial(self.follow, topic, queue_bytes=queue_bytes),
            topic,
            ranges,
            stall_timeout_s=stall_timeout_s,
            stopping=stopping,
        )


class KafkaLogReader:
    """A ``LogReader``: one consumer, which gains and loses partitions."""

    def __init__(self, connection: Connection, topic: str, *, queue_bytes: int) -> None:
        self._topic = topic
        settings = connection.librdkafka() | dict(_SETTINGS)
        settings |= {"group.id": READER_GROUP, "error_cb": _note_error}
        settings |= {"queued.max.messages.kbytes": queue_bytes >> 10}
        self._consumer = Consumer(settings)
        # The client does not promise anything for a consumer that is closed during a poll.
        self._polling = threading.Lock()
        self._closed = False

    def assign(self, partition: int, offset: int, leader_epoch: int = -1) -> None:
        """Start reading ``partition`` at ``offset``.

        Refuses a negative one: librdkafka would take it for "where the group was", "the end" or
        "the beginning".
        """
        if offset < 0:
            raise ValueError(f"{self._topic}, partition {partition}: {offset} is not an offset")
        place = TopicPartition(self._topic, partition, offset, "", leader_epoch)
        if leader_epoch < 0:
            place = TopicPartition(self._topic, partition, offset)
        self._consumer.incremental_assign([place])

    def release(self, partition: int) -> None:
        """Stop reading ``partition``."""
        self._consumer.incremental_unassign([TopicPartition(self._topic, partition)])

    def poll(self, timeout_s: float) -> list[News]:
        """Wait for news at most ``timeout_s``; batches come before the events that follow them."""
        with self._polling:
            return self._poll(timeout_s)

    def _poll(self, timeout_s: float) -> list[News]:
        # One poll, then what is queued: consume(n, timeout) alone would wait for n messages.
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        with COLLECTOR_PAUSED:  # not while it waits: a live table waits all the time
            messages = [first, *self._consumer.consume(MESSAGES_PER_POLL - 1, 0)]
            failed = [message for message in messages if message.error() is not None]
            if failed:
                messages = [message for message in messages if message.error() is None]
            news: list[News] = list(_batches(messages))
            news += self._events(failed)
            # Freed before the collector is back: it goes by how many objects were made and live.
            del first, messages, failed
            return news

    def close(self) -> None:
        """Free the consumer, once a poll under way is over; a second call does nothing."""
        with self._polling:
            if not self._closed:
                self._closed = True
                self._consumer.close()

    def _events(self, failed: Iterable[Message]) -> Iterator[EndOfLog | PositionLost | Unreadable]:
        for message in failed:
            error = message.error()
            code = error.code()
            if code == KafkaError._PARTITION_EOF and message.offset() >= 0:
                yield self._end_of_log(message.partition(), message.offset())
            elif code == KafkaError._AUTO_OFFSET_RESET:
                # The partition is stopped for good; only a new assignment revives it.
                self.release(message.partition())
                yield PositionLost(message.partition(), error.str())
            elif code in _CORRUPT:
                yield Unreadable(message.partition(), message.offset(), error.str())
            else:
                self._raise_if_fatal(error)

    def _end_of_log(self, partition: int, offset: int) -> EndOfLog:
        """With the epoch of the position, which markers and aborted records move, too."""
        (at,) = self._consumer.position([TopicPartition(self._topic, partition)])
        known = at.offset == offset and at.leader_epoch is not None
        return EndOfLog(partition, offset, at.leader_epoch if known else -1)

    def _raise_if_fatal(self, error: KafkaError) -> None:
        if error.code() in _FATAL_FOR_A_READER or error.fatal():
            raise ConnectionFailedError(
                f"reading {self._topic} is refused: {error.str()}",
                hint="check the credentials and that they may read this topic",
            )
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            # The topic may be in the middle of being created or recreated: the topic's monitor
            # decides that by its id, not a reader by one answer.
            log.debug("%s is not there at the moment: %s", self._topic, error)
        else:
            log.debug("reading %s: %s", self._topic, error)


def _note_error(error: KafkaError) -> None:
    """Broker up and down: librdkafka reconnects by itself, the monitor judges what it means."""
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
    Each message is asked once, for the second answer would be the broken pairs alone.
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
