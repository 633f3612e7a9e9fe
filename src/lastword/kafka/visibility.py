"""Waiting until every broker knows of a topic, or of its deletion.

The controller answers a create or delete before the brokers have heard of it; a reader that
asks one of them right away is told the opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lastword.clock import Clock
from lastword.errors import ConnectionFailedError
from lastword.kafka.connection import Connection

_PAUSE_SECONDS = 0.02
_ANSWER_SECONDS = 2.0


def wait_until_visible(
    connection: Connection,
    brokers: Sequence[str],
    topic: str,
    *,
    timeout_seconds: float,
    clock: Clock,
) -> None:
    """Return when every broker lists the topic and a leader for each of its partitions."""

    def led(topics: Mapping[str, Any]) -> bool:
        found = topics.get(topic)
        return (
            found is not None
            and found.error is None
            and bool(found.partitions)
            and all(partition.leader >= 0 for partition in found.partitions.values())
        )

    what = f"know the new topic {topic!r}"
    _wait(connection, brokers, led, what, timeout_seconds=timeout_seconds, clock=clock)


def wait_until_gone(
    connection: Connection,
    brokers: Sequence[str],
    topic: str,
    *,
    timeout_seconds: float,
    clock: Clock,
) -> None:
    """Return when no broker lists the topic."""

    def gone(topics: Mapping[str, Any]) -> bool:
        return topic not in topics

    what = f"know that {topic!r} is deleted"
    _wait(connection, brokers, gone, what, timeout_seconds=timeout_seconds, clock=clock)


def _wait(
    connection: Connection,
    brokers: Sequence[str],
    seen: Callable[[Mapping[str, Any]], bool],
    what: str,
    *,
    timeout_seconds: float,
    clock: Clock,
) -> None:
    deadline = clock.monotonic() + timeout_seconds
    for address in brokers:
        # A client asks the brokers it was started with first, so each broker gets its own client.
        client = AdminClient(replace(connection, bootstrap_servers=address).librdkafka())
        while not _answers(client, seen):
            if clock.monotonic() > deadline:
                raise ConnectionFailedError(
                    f"broker {address} does not yet {what} after {timeout_seconds:.0f} s",
                    hint="the change was accepted; look again: lastword topic list",
                )
            clock.sleep(_PAUSE_SECONDS)


def _answers(client: Any, seen: Callable[[Mapping[str, Any]], bool]) -> bool:
    try:
        return seen(client.list_topics(timeout=_ANSWER_SECONDS).topics)
    except KafkaException:
        return False  # not an answer; the deadline decides how long to go on asking
    finally:
        client.poll(0)
