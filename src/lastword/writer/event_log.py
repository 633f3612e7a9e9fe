"""A topic that keeps every event, from which state can be derived again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from lastword.codecs.resolve import CodecSpec, codecs_for
from lastword.codecs.split import split_of
from lastword.errors import TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection, choose_connection
from lastword.records import NO_HEADERS, Headers, Version, Write
from lastword.topics.creation import DEFAULT_PARTITIONS, DEFAULT_REPLICATION
from lastword.writer.direct import WRITE_TIMEOUT_S, DirectWriter
from lastword.writer.id_headers import with_id_header
from lastword.writer.write_path import WritePath, write_one

# Nothing expires, nothing is compacted away.
SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class EventLog:
    """Appends events to ``topic``. Safe to use from any thread; connects on the first append.

    A key's events are in one partition, the one that Kafka's own clients choose, in the order of
    their appends. When ``append`` returns, the event is in every in-sync replica, once.
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
        self._keys, self._values = codecs_for(topic, key, value)
        self._split = split_of(self._values)
        self._lock = threading.Lock()
        self._path: WritePath | None = None

    def create(
        self, *, partitions: int = DEFAULT_PARTITIONS, replication: int = DEFAULT_REPLICATION
    ) -> None:
        """Create the topic, with settings under which no event is ever deleted.

        Choose ``partitions`` well: the tables derived from it have as many, and neither can change.
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
        """Append one event; return its version. Raises the error of a failed write."""
        return write_one(self._connect(), self._record(key, event, headers, timestamp_ms))

    def append_many(self, events: Iterable[tuple[Any, Any]]) -> list[Version]:
        """Append pairs of key and event in order, far faster than one by one.

        When one of them fails, others may have been appended: the error says which failed.
        """
        records = [self._record(key, event, NO_HEADERS, None) for key, event in events]
        versions: list[Version] = []
        for outcome in self._connect().write(records):
            if outcome.error is not None:
                outcome.error.add_note(f"event {len(versions) + 1} of {len(records)}")
            versions.append(outcome.raise_or_version())
        return versions

    def close(self) -> None:
        """Wait for appends in flight and disconnect; idempotent. The next append reconnects."""
        with self._lock:
            path, self._path = self._path, None
        if path is not None:
            path.close()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _record(self, key: Any, event: Any, headers: Headers, timestamp_ms: int | None) -> Write:
        value = self._values.encode(event)
        record = Write(self._keys.encode(key), value, tuple(headers), timestamp_ms)
        return record if self._split is None else with_id_header(record, self._split)

    def _connect(self) -> WritePath:
        with self._lock:
            if self._path is None:
                self._path = event_path(self._connection, self.topic)
            return self._path


def event_path(
    connection: Connection, topic: str, *, timeout_s: float = WRITE_TIMEOUT_S
) -> DirectWriter:
    """The path into a topic of events; raises TopicUnfitError if compaction would delete them."""
    with Admin(connection) as admin:
        settings = admin.settings(topic)
    if "compact" in settings["cleanup.policy"]:
        raise TopicUnfitError(
            f"{topic} is compacted: only the last event of each key would stay",
            hint="EventLog('events').create() makes a topic that keeps them all",
        )
    batch_bytes = int(settings["max.message.bytes"])
    return DirectWriter(connection, topic, batch_bytes=batch_bytes, timeout_s=timeout_s)
