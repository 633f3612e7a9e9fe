"""Sources for pipelines in tests, and their results as plain dicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from lastword.clock import SYSTEM_CLOCK
from lastword.codecs.resolve import codec, key_codec
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines import Pipeline
from lastword.pipelines.api.result import Result
from tests.support.local_tables.tables import read_raw

PARTITIONS = 3
# Of today: the changelog of windows drops what is older than their retention and a day.
NOON_MS = SYSTEM_CLOCK.now_ms() // 3_600_000 * 3_600_000

Written = tuple[str | bytes | None, Any, int]
"""Key, value for JSON (None is a tombstone, bytes are raw), milliseconds after NOON_MS."""


@dataclass
class Bench:
    """A broker with a source topic, and pipelines that keep their state in one directory."""

    connection: Connection
    admin: Admin
    source: str
    directory: Path

    def add_source(self, name: str, partitions: int = PARTITIONS) -> str:
        """A topic that keeps events of any time."""
        settings = {"cleanup.policy": "delete", "retention.ms": "-1"}
        self.admin.create(name, partitions=partitions, replication=1, settings=settings)
        return name

    def pipeline(self, **options: Any) -> Pipeline:
        return Pipeline(
            f"app-{self.source}",
            connection=self.connection,
            state_dir=self.directory / "state",
            **options,
        )

    def write(
        self,
        events: Iterable[Written],
        topic: str | None = None,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """Append events as any Kafka client would, each key to its partition."""
        producer = Producer(
            self.connection.librdkafka() | {"partitioner": "murmur2_random", "linger.ms": 5}
        )
        for key, value, at_ms in events:
            raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(
                topic or self.source,
                raw,
                key,
                timestamp=NOON_MS + at_ms,
                headers=dict(headers or {}),
            )
        assert producer.flush(30) == 0

    def table(self, result: Result) -> dict[Any, Any]:
        """What the changelog says, as any reader of it sees it."""
        assert result.topic is not None
        keys, values = key_codec(result.key), codec(result.value)
        return {
            keys.decode(key): values.decode(value) for key, value in self.rows(result.topic).items()
        }

    def rows(self, topic: str) -> dict[bytes, bytes]:
        """The last value of each key of a topic."""
        table: dict[bytes, bytes] = {}
        for record in read_raw(self.connection, topic):
            assert record.key is not None
            if record.value is None:
                table.pop(record.key, None)
            else:
                table[record.key] = record.value
        return table


def counts_of(events: Sequence[Written]) -> dict[str, int]:
    """The plain model of a count."""
    counts: dict[str, int] = {}
    for key, value, _ in events:
        if key is not None and value is not None:
            counts[key] = counts.get(key, 0) + 1
    return counts
