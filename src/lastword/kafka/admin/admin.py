"""Requests to a cluster: topics, their settings, their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import TopicNotFoundError
from lastword.kafka.admin.calls import AdminCalls
from lastword.kafka.admin.offsets import END, STABLE_END, START, LogBounds, OffsetQueries
from lastword.kafka.admin.visibility import Visibility
from lastword.kafka.connection import Connection

REQUEST_TIMEOUT_SECONDS = 10.0

_SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: "topic",
    ConfigSource.DEFAULT_CONFIG.value: "default",
}


@dataclass(frozen=True)
class PartitionInfo:
    """One partition's replicas, as broker ids. ``leader`` is None while there is none."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class TopicInfo:
    """A topic as its brokers see it. ``topic_id`` changes when it is deleted and recreated."""

    name: str
    topic_id: str
    partitions: int
    replication: int
    layout: tuple[PartitionInfo, ...]


class TopicSetting(NamedTuple):
    """One effective setting. ``source`` is "topic", "broker" or "default"."""

    value: str
    source: str


class AdvertisedBroker(NamedTuple):
    """One broker and the address it gives to clients."""

    broker: int
    address: str


class Admin:
    """Reads and changes the topics of a cluster; usable from any thread.

    Every call takes at most ``timeout_seconds``. A cluster that does not answer raises
    ConnectionFailedError, which never means that a topic is gone.

    >>> with Admin(connection) as admin:                              # doctest: +SKIP
    ...     admin.end_offsets("user-profiles", [0, 1, 2])
    {0: 12, 1: 7, 2: 0}
    """

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.connection = connection
        self._timeout = timeout_seconds
        self._visibility = Visibility(connection, clock)
        self._calls = AdminCalls(connection, timeout_seconds=timeout_seconds, clock=clock)
        self._offsets = OffsetQueries(
            self._calls, self._check_partitions, timeout_seconds=timeout_seconds, clock=clock
        )

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; idempotent. A later call opens them again."""
        self._calls.close()

    def cluster_id(self) -> str:
        """The id the cluster was formatted with."""
        return str(self._cluster().cluster_id)

    def brokers(self) -> list[AdvertisedBroker]:
        """The brokers that are alive."""
        return [AdvertisedBroker(n.id, f"{n.host}:{n.port}") for n in self._cluster().nodes]

    def topics(self) -> list[str]:
        """The names of all topics except Kafka's internal ones, sorted."""
        # Without a topic name this cannot create one; with a name, librdkafka's request may.
        metadata = self._calls.ask(
            lambda client, seconds: {"": _answered(client.list_topics(timeout=seconds))},
            doing="listing topics",
        )[""]
        return sorted(name for name in metadata.topics if not name.startswith("__"))

    def describe(self, topic: str) -> TopicInfo:
        """The topic's identity and layout; raises TopicNotFoundError."""
        answer = self._calls.ask(
            lambda client, seconds: client.describe_topics(
                TopicCollection([topic]), request_timeout=seconds
            ),
            doing=f"describing {topic!r}",
            topic=topic,
        )[topic]
        layout = tuple(_partition_info(each) for each in answer.partitions)
        return TopicInfo(
            name=topic,
            topic_id=_as_kafka_writes_it(answer.topic_id),
            partitions=len(layout),
            replication=min(len(each.replicas) for each in layout),
            layout=layout,
        )

    def settings(self, topic: str) -> dict[str, str]:
        """Every setting in effect for the topic, from any source."""
        return {name: setting.value for name, setting in self.setting_sources(topic).items()}

    def setting_sources(self, topic: str) -> dict[str, TopicSetting]:
        """Every setting in effect for the topic, and where it comes from."""
        return self._describe_configs(ResourceType.TOPIC, topic, topic=topic)

    def broker_settings(self, broker: int) -> dict[str, TopicSetting]:
        """Every setting of one broker; sensitive ones are absent."""
        return self._describe_configs(ResourceType.BROKER, str(broker))

    def start_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset still in each partition."""
        return self._offsets.of(topic, partitions, START)

    def end_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The high watermark of each partition, even beyond open transactions."""
        return self._offsets.of(topic, partitions, END)

    def stable_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The start of each partition's first open transaction, or its end when none is open."""
        return self._offsets.of(topic, partitions, STABLE_END)

    def bounds(self, topic: str, partitions: Iterable[int]) -> dict[int, LogBounds]:
        """Where the log of each partition starts and ends, as of about one moment."""
        return self._offsets.bounds(topic, partitions)

    def bounds_answered(self, topic: str, partitions: Iterable[int]) -> dict[int, LogBounds]:
        """The same of the partitions whose leaders answer at once; the others are absent."""
        return self._offsets.bounds_answered(topic, partitions)

    def offsets_since(
        self, topic: str, ends: Mapping[int, int], timestamp_ms: int
    ) -> dict[int, int]:
        """The first offset of each partition with that time or a later one; else its end."""
        return self._offsets.since(topic, ends, timestamp_ms)

    def newest_timestamps(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The latest time of a record of each partition; -1 for one without records."""
        return self._offsets.newest(topic, partitions)

    def create(
        self,
        topic: str,
        *,
        partitions: int,
        replication: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Create the topic and wait until every broker knows it; raises TopicExistsError."""
        new = NewTopic(topic, partitions, replication, config=dict(settings or {}))
        self._order(
            lambda client, seconds: client.create_topics(
                [new], operation_timeout=seconds, request_timeout=seconds
            ),
            doing=f"creating {topic!r}",
            topic=topic,
        )
        self._visibility.wait_until_listed(topic, self._addresses())
        self._visibility.wait_until_answered(
            lambda: self.end_offsets(topic, range(partitions)), topic
        )

    def delete(self, topic: str) -> None:
        """Delete the topic and wait until no broker knows it; raises TopicNotFoundError."""
        self._order(
            lambda client, seconds: client.delete_topics(
                [topic], operation_timeout=seconds, request_timeout=seconds
            ),
            doing=f"deleting {topic!r}",
            topic=topic,
        )
        self._visibility.wait_until_gone(topic, self._addresses())

    def alter(self, topic: str, settings: Mapping[str, str | None]) -> None:
        """Change these settings and no others, and wait until they are in effect.

        None resets a setting to the broker's default.
        """
        before = self.setting_sources(topic)
        entries = [
            ConfigEntry(
                name,
                value,
                incremental_operation=AlterConfigOpType.DELETE
                if value is None
                else AlterConfigOpType.SET,
            )
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        self._order(
            lambda client, seconds: client.incremental_alter_configs(
                [resource], request_timeout=seconds
            ),
            doing=f"altering {topic!r}",
            topic=topic,
        )
        self._visibility.wait_until_altered(lambda: self.setting_sources(topic), before, settings)

    def delete_before(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Delete the records below these offsets; only if the topic's policy includes delete."""
        places = [TopicPartition(topic, partition, at) for partition, at in offsets.items()]
        doing = f"deleting records of {topic!r}"
        with self._calls.to_leaders() as leaders:
            answers = leaders.each(
                lambda client, seconds: client.delete_records(places, request_timeout=seconds),
                self._timeout,
                doing=doing,
                topic=topic,
            )
        for answer in answers.values():
            if isinstance(answer, KafkaError):
                raise self._calls.failure(answer, doing, topic)

    def _addresses(self) -> list[str]:
        return [broker.address for broker in self.brokers()]

    def _cluster(self) -> Any:
        return self._calls.ask(
            lambda client, seconds: {"": client.describe_cluster(request_timeout=seconds)},
            doing="describing the cluster",
        )[""]

    def _order(self, call: Any, *, doing: str, topic: str) -> None:
        # A change is sent once; a request first makes sure that the client still answers.
        self._cluster()
        self._calls.order(call, doing=doing, topic=topic)

    def _describe_configs(
        self, kind: ResourceType, name: str, topic: str = ""
    ) -> dict[str, TopicSetting]:
        resource = ConfigResource(kind, name)
        entries = self._calls.ask(
            lambda client, seconds: client.describe_configs([resource], request_timeout=seconds),
            doing=f"reading the settings of {name!r}",
            topic=topic,
        )[resource]
        return {
            entry.name: TopicSetting(entry.value, _SOURCES.get(entry.source, "broker"))
            for entry in entries.values()
            if entry.value is not None
        }

    def _check_partitions(self, topic: str, partitions: set[int]) -> None:
        count = self.describe(topic).partitions
        missing = sorted(partitions - set(range(count)))
        if missing:
            raise TopicNotFoundError(
                f"{topic!r} has {count} partitions, but no partition {missing[0]}",
                hint=f"see them: lastword topic describe {topic}",
            )


def _answered(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _as_kafka_writes_it(topic_id: Any) -> str:
    """URL-safe Base64, as in Kafka's tools and files; librdkafka writes plain Base64."""
    return str(topic_id).replace("+", "-").replace("/", "_")


def _partition_info(each: Any) -> PartitionInfo:
    return PartitionInfo(
        partition=each.id,
        leader=None if each.leader is None or each.leader.id < 0 else each.leader.id,
        replicas=tuple(node.id for node in each.replicas),
        in_sync=tuple(sorted(node.id for node in each.isr)),
    )
