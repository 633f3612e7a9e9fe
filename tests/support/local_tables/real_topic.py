"""A topic on a real broker, written and read by plain Kafka clients: what tables are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.testing import wait_until

RAW = {"key": "bytes", "value": "bytes"}
"""Table options for comparing rows with the log byte by byte: ``tables.open(topic, **RAW)``."""

FILLER = b"filler"
FLUSH_S = 30.0

EAGER_COMPACTION = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
"""Every record is cleaned within a second or so, as long as others are appended after it."""


class Logged(NamedTuple):
    """A record as it is in the log."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class RealTopic:
    """Creates, writes, reads and compacts one topic without any of the code under test."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        # Brokers are stopped and killed around these clients: their complaints are no news.
        self._servers = {"bootstrap.servers": connection.bootstrap_servers, "log_level": 0}
        self._admin = Admin(connection)
        self._client = AdminClient(self._servers)
        self._producers: dict[str, Producer] = {}
        self._filled = 0

    def create(
        self,
        partitions: int = 1,
        settings: Mapping[str, str] | None = None,
        *,
        replication: int = 1,
    ) -> RealTopic:
        """Make it, compacted unless the settings say otherwise."""
        chosen = {"cleanup.policy": "compact"} | dict(settings or {})
        self._admin.create(
            self.name, partitions=partitions, replication=replication, settings=chosen
        )
        return self

    def delete(self) -> None:
        self._admin.delete(self.name)
        self._producers.clear()

    def alter(self, settings: Mapping[str, str]) -> None:
        self._admin.alter(self.name, settings)

    def add_partitions(self, total: int) -> None:
        self._client.create_partitions([NewPartitions(self.name, total)])[self.name].result(180)
        wait_until(lambda: self._admin.describe(self.name).partitions == total, "new partitions")

    def delete_records_before(self, offset: int, partition: int = 0) -> None:
        """Move the start of the log, as expired segments of a `compact,delete` topic do."""
        place = TopicPartition(self.name, partition, offset)
        self._client.delete_records([place])[place].result(180)

    # -- writing -------------------------------------------------------------------------------

    def produce(
        self,
        *pairs: tuple[bytes | None, bytes | None],
        partition: int = -1,
        partitioner: str = "murmur2_random",
    ) -> None:
        """Append in order; returns when all of it is acknowledged."""
        if partitioner not in self._producers:
            settings = {"acks": "all", "linger.ms": 5, "partitioner": partitioner}
            self._producers[partitioner] = Producer(self._servers | settings)
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failures.append(error)

        producer = self._producers[partitioner]
        for key, value in pairs:
            producer.produce(self.name, value, key, partition=partition, on_delivery=delivered)
            producer.poll(0)
        assert producer.flush(FLUSH_S) == 0
        assert not failures

    def begin_transaction(
        self, *pairs: tuple[bytes, bytes | None], name: str, timeout_ms: int = 60_000
    ) -> Producer:
        """Write the pairs in a transaction and leave it open."""
        producer = Producer(
            self._servers
            | {"transactional.id": name, "transaction.timeout.ms": timeout_ms, "linger.ms": 0}
        )
        producer.init_transactions(FLUSH_S)
        producer.begin_transaction()
        for key, value in pairs:
            producer.produce(self.name, value, key)
        assert producer.flush(FLUSH_S) == 0
        return producer

    # -- reading -------------------------------------------------------------------------------

    def end(self, partition: int = 0) -> int:
        return self._admin.end_offsets(self.name, [partition])[partition]

    def log(self) -> list[Logged]:
        """Every committed record that can be read now, in order of partition and offset."""
        with self._consumer() as consumer:
            waiting = set(range(self._admin.describe(self.name).partitions))
            starts = self._admin.start_offsets(self.name, waiting)
            consumer.assign([TopicPartition(self.name, p, at) for p, at in starts.items()])
            found: list[Logged] = []
            while waiting:
                for message in consumer.consume(10_000, 0.05):
                    if message.error() is None:
                        found.append(
                            Logged(
                                message.partition(),
                                message.offset(),
                                message.key(),
                                message.value(),
                            )
                        )
                    elif message.error().code() == KafkaError._PARTITION_EOF:
                        waiting.discard(message.partition())
                    else:
                        raise AssertionError(message.error())
        return sorted(found)

    def fold(self) -> dict[bytes, bytes]:
        """The state of the log: the last value of each key that is not deleted."""
        state: dict[bytes, bytes] = {}
        for record in self.log():
            if record.key and record.value is not None:
                state[record.key] = record.value
            elif record.key:
                state.pop(record.key, None)
        return state

    def keys(self) -> list[bytes | None]:
        return [record.key for record in self.log()]

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        consumer = Consumer(
            self._servers
            | {
                "group.id": "an-independent-reader",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 20,
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()

    # -- compaction ----------------------------------------------------------------------------

    def compact_until(self, done: Callable[[list[Logged]], bool], what: str) -> None:
        """Append fillers, so that segments roll and the cleaner runs, until ``done`` holds."""

        def fill_and_look() -> bool:
            self._filled += 1
            self.produce((FILLER, b"%d" % self._filled), partition=0)
            return done(self.log())

        wait_until(fill_and_look, what, timeout=180, every=0.12)

    def compact_away(self, key: bytes) -> None:
        """Return when no record of the key is left in the log, not even its tombstone."""
        self.compact_until(
            lambda log: all(record.key != key for record in log), f"{key!r} is cleaned away"
        )


MakeTopic = Callable[..., RealTopic]
"""(partitions, settings) -> a new topic; a fixture of the robustness tests."""
