"""When each row was first seen: in the topic of change events, and in the table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from confluent_kafka import Consumer, TopicPartition

import lastword as lw
from lastword.kafka.connection import Connection

_POLL_S = 0.05


@dataclass
class Sightings:
    """By the id of the row, in seconds of one clock."""

    at: dict[int, float] = field(default_factory=dict)


@contextmanager
def seen_in_topic(connection: Connection, topic: str) -> Iterator[Sightings]:
    """What a consumer of committed change events sees."""
    seen = Sightings()
    settings = {"group.id": "seen", "isolation.level": "read_committed", "fetch.wait.max.ms": 10}
    consumer = Consumer(connection.librdkafka() | settings)
    consumer.assign([TopicPartition(topic, 0, 0)])

    def read() -> None:
        # One at a time: several are waited for.
        message = consumer.poll(_POLL_S)
        if message is not None and message.error() is None:
            key = msgspec.json.decode(message.key() or b"")["id"]
            seen.at.setdefault(key, time.perf_counter())

    with _repeating(read):
        yield seen
    consumer.close()


@contextmanager
def seen_in_table(connection: Connection, topic: str) -> Iterator[Sightings]:
    """What a watcher of the table sees."""
    seen = Sightings()
    with lw.Table(topic, connection=connection, value="row") as table, table.watch() as changes:

        def read() -> None:
            change = changes.take(_POLL_S)
            if change is not None:
                seen.at.setdefault(int(change.key), time.perf_counter())

        with _repeating(read):
            yield seen


@contextmanager
def _repeating(read: Callable[[], None]) -> Iterator[None]:
    stopping = threading.Event()

    def run() -> None:
        while not stopping.is_set():
            read()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
