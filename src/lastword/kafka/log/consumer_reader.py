"""The common part of readers over a librdkafka consumer: the lock, and its errors."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError

from lastword.errors import ConnectionFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import READER_GROUP
from lastword.kafka.log.source import EndOfLog, News, PositionLost, Unreadable
from lastword.records import Batch

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
    "group.id": READER_GROUP,
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


def reader_settings(connection: Connection, queue_bytes: int) -> dict[str, Any]:
    """The settings of a reader's consumer; it joins no group."""
    queued = {"queued.max.messages.kbytes": queue_bytes >> 10}
    return connection.librdkafka() | dict(_SETTINGS) | queued


class FailedRead(NamedTuple):
    """What librdkafka returns instead of a record."""

    partition: int
    offset: int
    code: int
    reason: str
    fatal: bool


class ConsumerReader(ABC):
    """A ``LogReader``: one consumer, which gains and loses partitions.

    Everything that touches the consumer is done under one lock: librdkafka does not promise
    anything for a consumer that is closed during a poll.

    The consumer is made with the first partition. librdkafka asks for the leaders of its topics
    when it connects, and of a topic that comes later only with its next look, once a second.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._using = threading.Lock()
        self._started = False
        self._closed = False

    def assign(self, partition: int, offset: int, leader_epoch: int = -1) -> None:
        """Start reading ``partition`` at ``offset``.

        Refuses a negative one: librdkafka would take it for "where the group was", "the end" or
        "the beginning".
        """
        if offset < 0:
            raise ValueError(f"{self._topic}, partition {partition}: {offset} is not an offset")
        with self._using:
            self._refuse_if_closed()
            self._started = True
            self._assign(partition, offset, leader_epoch)

    def release(self, partition: int) -> None:
        """Stop reading ``partition``."""
        with self._using:
            self._release(partition)

    def poll(self, timeout_s: float) -> list[News]:
        """Wait for news at most ``timeout_s``; batches come before the events that follow them."""
        with self._using:
            self._refuse_if_closed()
            if not self._started:
                time.sleep(timeout_s)
                return []
            batches, failed = self._take(timeout_s)
            return [*batches, *self._events(failed)]

    def close(self) -> None:
        """Free the consumer after the current poll; a second call does nothing."""
        with self._using:
            if self._started and not self._closed:
                self._free()
            self._closed = True

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise RuntimeError("the reader is closed")

    def _events(
        self, failed: Iterable[FailedRead]
    ) -> Iterator[EndOfLog | PositionLost | Unreadable]:
        for each in failed:
            if each.code == KafkaError._PARTITION_EOF and each.offset >= 0:
                yield self._end_of_log(each.partition, each.offset)
            elif each.code == KafkaError._AUTO_OFFSET_RESET:
                # librdkafka has stopped the partition; only a new assignment resumes it.
                self._release(each.partition)
                yield PositionLost(each.partition, each.reason)
            elif each.code in _CORRUPT:
                yield Unreadable(each.partition, each.offset, each.reason)
            else:
                self._raise_if_fatal(each)

    def _end_of_log(self, partition: int, offset: int) -> EndOfLog:
        """An end with the epoch of the position, which markers and aborted records advance, too."""
        position, epoch = self._position(partition)
        return EndOfLog(partition, offset, epoch if position == offset else -1)

    def _raise_if_fatal(self, failed: FailedRead) -> None:
        if failed.code in _FATAL_FOR_A_READER or failed.fatal:
            raise ConnectionFailedError(
                f"reading {self._topic} is refused: {failed.reason}",
                hint="check the credentials and that they may read this topic",
            )
        if failed.code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            # The topic may be about to be created or recreated: the topic's monitor decides that
            # by its id, not a reader by one answer.
            log.debug("%s is not there at the moment: %s", self._topic, failed.reason)
        else:
            log.debug("reading %s: %s", self._topic, failed.reason)

    @abstractmethod
    def _assign(self, partition: int, offset: int, leader_epoch: int) -> None:
        """Start reading there; an epoch below 0 is not known."""

    @abstractmethod
    def _release(self, partition: int) -> None:
        """Stop reading."""

    @abstractmethod
    def _take(self, timeout_s: float) -> tuple[list[Batch], list[FailedRead]]:
        """Wait for one message, and take it with those that are queued."""

    @abstractmethod
    def _position(self, partition: int) -> tuple[int, int]:
        """The next offset and its leader epoch, -1 where that is not known."""

    @abstractmethod
    def _free(self) -> None:
        """Close the consumer."""
