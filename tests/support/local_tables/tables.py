"""Tables for tests: opened with one call, always closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from lastword.kafka.connection import Connection
from lastword.records import NO_HEADERS, Headers
from lastword.table.table import Table
from lastword.testing import wait_until
from lastword.testing.read_log import read_log


class Tables(ExitStack):
    """``tables.open(topic)`` is a table that is ready; ``tables.make(topic)`` is not started."""

    def __init__(self, connection: Connection, state_dir: Path) -> None:
        super().__init__()
        self.connection = connection
        self.state_dir = state_dir

    def make(self, topic: str, **options: Any) -> Table:
        options = {"connection": self.connection, "state_dir": self.state_dir} | options
        table = Table(topic, **options)
        self.callback(table.close)
        return table

    def open(self, topic: str, **options: Any) -> Table:
        table = self.make(topic, **options)
        table.start()
        table.wait_ready()
        return table


def wait_until_trusted(table: Table) -> None:
    """A sweep that dropped rows in more time than the retention is repeated after a minute."""
    wait_until(lambda: not table.query.count().stale, "trusted again", timeout=180)


def every_operation(table: Table) -> list[Callable[[], Any]]:
    """Every way to read and write, not yet done."""
    return [
        lambda: table.get("a"),
        lambda: table["a"],
        lambda: "a" in table,
        lambda: len(table),
        lambda: list(table),
        lambda: table.get_many(["a"]),
        table.items,
        lambda: table.range("a", "b"),
        lambda: table.prefix("a"),
        table.watch,
        lambda: table.put("a", 1),
        lambda: table.delete("a"),
        lambda: table.put_many({"a": 1}),
    ]


def write_raw(
    connection: Connection,
    topic: str,
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    headers: Headers = NO_HEADERS,
    partition: int = -1,
) -> None:
    """Append records as any other Kafka client would, in order and acknowledged."""
    settings = connection.librdkafka() | {"acks": "all", "partitioner": "murmur2_random"}
    producer = Producer(settings | {"linger.ms": 0})
    for key, value in records:
        producer.produce(topic, value, key, headers=list(headers), partition=partition)
    assert producer.flush(30) == 0


read_raw = read_log
