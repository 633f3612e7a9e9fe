"""The committed positions and the members of a consumer group, without joining it.

librdkafka's admin client is not used for that: when a broker goes away under a request to a group's
coordinator, librdkafka 2.16 aborts the process. Its consumers survive that, and kafka-python does
what a consumer cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConnectionFailedError
from lastword.kafka.admin import REQUEST_TIMEOUT_SECONDS
from lastword.kafka.admin.client_failures import failure
from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection
from lastword.records import TopicPartition

_POLL_S = 0.2
_PASSING = frozenset(
    (
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError._WAIT_COORD,
    )
)
_NO_SUCH_GROUP = "GroupIdNotFoundError"

T = TypeVar("T")


class Committed(NamedTuple):
    """The next offset of a partition and the text that was committed with it."""

    offset: int
    metadata: str


class Member(NamedTuple):
    """One member of a group, with its ``client_id``."""

    member_id: str
    client_id: str
    host: str


class Groups:
    """Requests about consumer groups; usable from any thread, each with a time limit."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._patience_s = timeout_seconds
        self._consumers: dict[str, Consumer] = {}

    def close(self) -> None:
        """Close the connections; idempotent."""
        while self._consumers:
            self._consumers.popitem()[1].close()

    def committed(
        self, group: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed]:
        """The committed offsets of those partitions that have one.

        Waits for transactions that are about to commit offsets, so that the answer is not about to
        be replaced.
        """
        asked = [KafkaPartition(each.topic, each.partition) for each in partitions]
        consumer = self._consumer(group)

        def ask() -> dict[TopicPartition, Committed]:
            answer = consumer.committed(asked, timeout=self._patience_s)
            for each in answer:
                if each.error is not None:
                    raise KafkaException(each.error)
                if each.offset < 0 and each.offset != OFFSET_INVALID:  # which says "none"
                    raise KafkaException(KafkaError(KafkaError._WAIT_COORD))
            return {
                TopicPartition(each.topic, each.partition): Committed(
                    each.offset, each.metadata or ""
                )
                for each in answer
                if each.offset >= 0
            }

        return self._until_answered(ask, doing=f"asking for the positions of {group!r}")

    def everything_committed(self, group: str) -> dict[TopicPartition, Committed]:
        """Every committed position of the group, for all topics."""
        with self._wire(f"asking for the positions of {group!r}") as admin:
            answer = admin.list_group_offsets({group: None})[group]
        return {
            TopicPartition(each.topic, each.partition): Committed(at.offset, at.metadata or "")
            for each, at in answer.items()
            if at.offset >= 0
        }

    def outsider(self, group: str) -> bytes:
        """The metadata with which a transaction commits positions of a group without members."""
        metadata: bytes = self._consumer(group).consumer_group_metadata()
        return metadata

    def members(self, group: str) -> list[Member]:
        """The members of the group; a dead member stays until its session ends."""
        doing = f"asking who is in {group!r}"

        def ask() -> list[Member]:
            with self._wire(doing) as admin:
                answer = admin.describe_groups([group])[group]
            if answer["error"] is not None and _NO_SUCH_GROUP not in answer["error"]:
                raise ConnectionFailedError(
                    f"{self._connection.bootstrap_servers} gave no answer while {doing}: "
                    f"{answer['error']}",
                    hint="is the group's coordinator up?",
                )
            return [
                Member(each["member_id"], each["client_id"], each["client_host"])
                for each in answer["members"]
            ]

        return self._until_answered(ask, doing=doing)

    def names(self) -> list[str]:
        """Every group of the cluster."""
        with self._wire("asking for the groups") as admin:
            return sorted({each["group_id"] for each in admin.list_groups()})

    def _consumer(self, group: str) -> Consumer:
        """A consumer that never subscribes: it has the group's name but is not a member."""
        if group not in self._consumers:
            settings = self._connection.librdkafka()
            settings |= {"group.id": group, "enable.auto.commit": False}
            # Only this isolation level waits for the offsets of open transactions.
            settings |= {"isolation.level": "read_committed"}
            self._consumers[group] = Consumer(settings)
        return self._consumers[group]

    def _wire(self, doing: str) -> Any:
        return wire_admin(self._connection, doing=doing, timeout_seconds=self._patience_s)

    def _until_answered(self, ask: Callable[[], T], *, doing: str) -> T:
        """Retry until there is a coordinator: the first request of a group appoints it."""
        deadline = self._clock.monotonic() + self._patience_s
        while True:
            try:
                return ask()
            except KafkaException as error:
                if error.args[0].code() not in _PASSING or self._clock.monotonic() >= deadline:
                    servers = self._connection.bootstrap_servers
                    raise failure(error.args[0], doing=doing, servers=servers) from error
            except ConnectionFailedError:
                if self._clock.monotonic() >= deadline:
                    raise
            self._clock.sleep(_POLL_S)
