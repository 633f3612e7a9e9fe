"""The events that pipelines compute on, and what each computation must come to."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from arena.dataset import Numbers, key_of, value_of

WINDOW_MS = 60_000
KINDS = ("count", "windowed", "reduce", "deduplicate")
_SEED = 11
# Kafka Streams appends a sequence number to the keys of window stores.
_STREAMS_SUFFIX = 4

Table = dict[bytes, int]


@dataclass(frozen=True)
class Events:
    """``records`` events, a millisecond apart, over ``keys`` keys drawn at random."""

    records: int
    keys: int
    partitions: int = 4
    first_ms: int = field(default_factory=lambda: int(time.time()) // 3600 * 3_600_000 - 3_600_000)

    @property
    def topic(self) -> str:
        """Of this run only: the events are of today."""
        return f"bench-events-{self.records}-{self.keys}-{self.first_ms}"

    @cached_property
    def numbers(self) -> Numbers:
        """The key of each event, as its number."""
        return np.random.default_rng(_SEED).integers(0, self.keys, self.records)

    def load(self, servers: str) -> None:
        """Make the topic and fill it, each key in its partition."""
        admin = AdminClient({"bootstrap.servers": servers})
        config = {"cleanup.policy": "delete", "retention.ms": "-1"}
        admin.create_topics([NewTopic(self.topic, self.partitions, 1, config=config)])[
            self.topic
        ].result(30)
        producer = Producer(
            {
                "bootstrap.servers": servers,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,  # a batch that is sent again keeps its place
                "compression.type": "lz4",
                "linger.ms": 20,
                "queue.buffering.max.messages": 500_000,
                "log_level": 3,
            }
        )
        for i, number in enumerate(self.numbers.tolist()):
            while True:
                try:
                    producer.produce(
                        self.topic, value_of(number, i), key_of(number), timestamp=self.first_ms + i
                    )
                    break
                except BufferError:
                    producer.poll(1)
        if left := producer.flush(120):
            raise SystemExit(f"{left} events could not be written to {self.topic}")

    def expected(self, kind: str) -> Table:
        """The table that a computation must end with: a plain model."""
        table: Table = {}
        for i, number in enumerate(self.numbers.tolist()):
            key = key_of(number)
            if kind == "windowed":
                start_ms = (self.first_ms + i) // WINDOW_MS * WINDOW_MS
                key += start_ms.to_bytes(8, "big")
            if kind == "deduplicate":
                table.setdefault(key, i)  # a day is longer than all of it
            else:
                table[key] = table.get(key, 0) + (i if kind == "reduce" else 1)
        return table


def check(servers: str, changelog: str, kind: str, expected: Mapping[bytes, int], who: str) -> None:
    """Stop the run when a changelog does not end with the model's table."""
    found = read_table(servers, changelog, kind, streams=who.startswith("streams"))
    if found != expected:
        wrong = sum(found.get(key) != value for key, value in expected.items())
        raise SystemExit(f"{changelog} is wrong: {len(found)} of {len(expected)} keys, {wrong} bad")


def read_table(servers: str, changelog: str, kind: str, *, streams: bool) -> Table:
    """The last value of each key."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "check", "enable.partition.eof": True}
    )
    partitions = len(consumer.list_topics(changelog, 10).topics[changelog].partitions)
    consumer.assign([TopicPartition(changelog, p, 0) for p in range(partitions)])
    table: Table = {}
    ended = 0
    while ended < partitions:
        for message in consumer.consume(10_000, 1.0):
            if message.error() is not None:
                ended += 1
                continue
            key, value = message.key(), message.value()
            if streams and kind == "windowed":
                key = key[:-_STREAMS_SUFFIX]
            if value is None:
                table.pop(key, None)
            else:
                counted = kind in ("count", "windowed")
                table[key] = int.from_bytes(value, "big") if counted else json.loads(value)["seq"]
    consumer.close()
    return table
