"""What a consumer group remembers and who is in it, without joining it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import LastwordError
from lastword.kafka.admin import REQUEST_TIMEOUT_SECONDS
from lastword.kafka.admin_calls import AdminCalls, Call
from lastword.kafka.connection import Connection

_LOOK_S = 0.2
_PASSING = frozenset(
    (
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    )
)


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Committed(NamedTuple):
    """The next offset of a place and the text that was committed with it."""

    offset: int
    metadata: str


class Member(NamedTuple):
    """One member of a group; ``client_id`` is what it calls itself."""

    member_id: str
    client_id: str
    host: str


class Groups:
    """Questions about consumer groups; usable from any thread, each within a time limit."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._patience_s = timeout_seconds
        self._calls = AdminCalls(connection, timeout_seconds=timeout_seconds, clock=clock)

    def close(self) -> None:
        """Let go of the connections; idempotent."""
        self._calls.close()

    def committed(self, group: str, places: Iterable[Place]) -> dict[Place, Committed]:
        """The committed offsets of those places that have one.

        Waits for transactions that are about to commit offsets, so that the answer is not one
        that a running commit is just replacing.
        """
        asked = [TopicPartition(place.topic, place.partition) for place in places]
        request = ConsumerGroupTopicPartitions(group, asked)
        answer = self._ask(
            lambda client, seconds: client.list_consumer_group_offsets(
                [request], require_stable=True, request_timeout=seconds
            ),
            doing=f"asking for the positions of {group!r}",
        )[group]
        return {
            Place(each.topic, each.partition): Committed(each.offset, each.metadata or "")
            for each in answer.topic_partitions
            if each.offset >= 0
        }

    def members(self, group: str) -> list[Member]:
        """Who is in the group; a dead member stays until its session ends."""
        answer = self._ask(
            lambda client, seconds: client.describe_consumer_groups(
                [group], request_timeout=seconds
            ),
            doing=f"asking who is in {group!r}",
        )[group]
        return [Member(each.member_id, each.client_id, each.host) for each in answer.members]

    def _ask(self, call: Call, *, doing: str) -> dict[Any, Any]:
        """Ask until somebody is in charge: a group's first question appoints its coordinator."""
        deadline = self._clock.monotonic() + self._patience_s
        while True:
            try:
                return self._calls.ask(call, doing=doing)
            except LastwordError as error:
                if not _is_passing(error.__cause__) or self._clock.monotonic() >= deadline:
                    raise
                self._clock.sleep(_LOOK_S)


def _is_passing(cause: BaseException | None) -> bool:
    return isinstance(cause, KafkaException) and cause.args[0].code() in _PASSING
