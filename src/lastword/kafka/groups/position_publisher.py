"""Commits positions under a consumer group, where lag tools look for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from lastword.kafka.connection import Connection

log = logging.getLogger(__name__)

_CLOSE_SECONDS = 1.0
_COORDINATOR_MS = 6_000


class PositionPublisher:
    """Commits the newest positions it was given; nothing waits for it or depends on it.

    It has its own consumer and thread because a commit hangs for as long as its broker is silent,
    and so does closing the consumer then. (The admin client is no alternative: when a broker goes
    away under a request to a group's coordinator, librdkafka 2.16 aborts the process.)
    """

    def __init__(self, connection: Connection, topic: str, group_id: str) -> None:
        self._settings = connection.librdkafka() | {
            "group.id": group_id,
            "enable.auto.commit": False,
            # No group is joined; this is how long a commit looks for the group's coordinator.
            "session.timeout.ms": _COORDINATOR_MS,
        }
        self._topic = topic
        self._positions: Mapping[int, int] = {}
        self._news = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"positions-{topic}", daemon=True)

    def publish(self, positions: Mapping[int, int]) -> None:
        """Commit these soon; returns at once."""
        self._positions = positions
        self._news.set()
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        """Stop, without waiting for a commit to a silent broker; idempotent."""
        self._closing = True
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        try:
            while self._news.wait() and not self._closing:
                self._news.clear()
                self._commit(consumer, self._positions)
                consumer.poll(0)  # only a poll delivers the client's log lines
        finally:
            consumer.close()

    def _commit(self, consumer: Consumer, positions: Mapping[int, int]) -> None:
        places = [TopicPartition(self._topic, p, offset) for p, offset in positions.items()]
        try:
            consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            log.debug("positions of %s were not committed: %s", self._topic, error)
