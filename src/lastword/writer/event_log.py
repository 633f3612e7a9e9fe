"""A topic that keeps every event: where state is derived from, and can be derived from again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from lastword.codecs.resolve import CodecSpec, codec, key_codec
from lastword.errors import TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection, choose_connection
from lastword.kafka.write.producer import Outgoing, RecordProducer
from lastword.records import NO_HEADERS, Headers, Version
from lastword.topics.creation import DEFAULT_PARTITIONS, DEFAULT_REPLICATION
from lastword.writer.writer import WRITE_TIMEOUT_S

# Nothing expires, nothing is compacted away.
SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class EventLog:
    """Appends events to ``topic``. Safe to use from any thread; connects on the first append.

    A key's events are in one partition, the one that Kafka's own clients choose too, in the
    order in which they were appended. Each is on disk, in every replica asked for, and there
    once when ``append`` returns.
    """

    def __init__(
        self,
        topic: str,
        *,
        bootstrap_servers: str | None = None,
        connection: Connection | None = None,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
    ) -> None:
        self.topic = topic
        self._connection = choose_connection(connection, bootstrap_servers)
        self._keys = key_codec(key)
        self._values = codec(value)
        self._lock = threading.Lock()
        self._producer: RecordProducer | None = None

    def create(
        self, *, partitions: int = DEFAULT_PARTITIONS, replication: int = DEFAULT_REPLICATION
    ) -> None:
        """Make the topic, so that no event ever leaves it.

        Choose ``partitions`` well: the tables derived from it have as many, and both are for good.
        """
        with Admin(self._connection) as admin:
            admin.create(
                self.topic, partitions=partitions, replication=replication, settings=SETTINGS
            )

    def append(
        self,
        key: Any,
        event: Any,
        *,
        headers: Headers = NO_HEADERS,
        timestamp_ms: int | None = None,
    ) -> Version:
        """Add one event; returns where it is. Raises what went wrong."""
        (version,) = self._send([self._outgoing(key, event, headers, timestamp_ms)])
        return version

    def append_many(self, events: Iterable[tuple[Any, Any]]) -> list[Version]:
        """Add pairs of key and event in order, far faster than one by one.

        When one of them fails, others may have been appended: the error says which failed.
        """
        return self._send([self._outgoing(key, event, NO_HEADERS, None) for key, event in events])

    def close(self) -> None:
        """Let go of the connection; idempotent."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.close()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _outgoing(
        self, key: Any, event: Any, headers: Headers, timestamp_ms: int | None
    ) -> Outgoing:
        return Outgoing(self._keys.encode(key), self._values.encode(event), headers, timestamp_ms)

    def _send(self, records: list[Outgoing]) -> list[Version]:
        deliveries = self._connect().send(records)
        for number, delivery in enumerate(deliveries):
            if delivery.error is not None:
                delivery.error.add_note(f"event {number + 1} of {len(deliveries)}")
                raise delivery.error
        return [delivery.version for delivery in deliveries if delivery.version is not None]

    def _connect(self) -> RecordProducer:
        with self._lock:
            if self._producer is None:
                self._producer = RecordProducer(
                    self._connection,
                    self.topic,
                    batch_bytes=self._checked_batch_bytes(),
                    timeout_s=WRITE_TIMEOUT_S,
                )
            return self._producer

    def _checked_batch_bytes(self) -> int:
        """The largest batch the topic takes; refused when compaction would delete events."""
        with Admin(self._connection) as admin:
            settings = admin.settings(self.topic)
        if "compact" in settings["cleanup.policy"]:
            raise TopicUnfitError(
                f"{self.topic} is compacted: of all events of a key only the last would stay",
                hint="EventLog('events').create() makes a topic that keeps them all",
            )
        return int(settings["max.message.bytes"])
