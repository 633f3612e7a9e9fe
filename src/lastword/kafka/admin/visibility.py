"""Waiting until a change of a topic has reached the brokers.

The controller answers a create, an alter or a delete before the brokers know of it; a request to a
broker right after it gets the opposite answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lastword.clock import Clock
from lastword.errors import ConnectionFailedError, TopicNotFoundError
from lastword.kafka.connection import Connection

VISIBLE_TIMEOUT_SECONDS = 30.0
_PAUSE_SECONDS = 0.02
_ANSWER_SECONDS = 2.0


class Visibility:
    """Waits for brokers, each wait with a limit; raises ConnectionFailedError beyond it."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        timeout_seconds: float = VISIBLE_TIMEOUT_SECONDS,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._timeout = timeout_seconds

    def wait_until_listed(self, topic: str, brokers: list[str]) -> None:
        """Until every broker lists the topic and a leader for each of its partitions."""

        def led(topics: Mapping[str, Any]) -> bool:
            found = topics.get(topic)
            return (
                found is not None
                and found.error is None
                and bool(found.partitions)
                and all(partition.leader >= 0 for partition in found.partitions.values())
            )

        self._at_every_broker(brokers, led, f"knows the new topic {topic!r}")

    def wait_until_gone(self, topic: str, brokers: list[str]) -> None:
        """Until no broker lists the topic."""
        gone = f"knows that {topic!r} is deleted"
        self._at_every_broker(brokers, lambda topics: topic not in topics, gone)

    def wait_until_answered(self, ask: Callable[[], object], topic: str) -> None:
        """Wait until the leaders answer; metadata names them shortly before they are ready."""

        def answered() -> bool:
            try:
                ask()
            except (ConnectionFailedError, TopicNotFoundError):
                return False
            return True

        self._wait(answered, f"the leaders of {topic!r} answer")

    def wait_until_altered(
        self,
        read: Callable[[], Mapping[str, tuple[str, str]]],
        before: Mapping[str, tuple[str, str]],
        changes: Mapping[str, str | None],
    ) -> None:
        """Until ``read`` (value and source of each setting) shows the changes."""

        def altered() -> bool:
            now = read()
            return all(
                now.get(name) != before.get(name) or _means(now.get(name), value)
                for name, value in changes.items()
            )

        self._wait(altered, f"the new settings {', '.join(changes)} are in effect")

    def _at_every_broker(
        self, brokers: list[str], seen: Callable[[Mapping[str, Any]], bool], what: str
    ) -> None:
        for address in brokers:
            one = replace(self._connection, bootstrap_servers=address)
            self._wait(partial(_answers, one, seen), f"broker {address} {what}")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = self._clock.monotonic() + self._timeout
        while not condition():
            if self._clock.monotonic() > deadline:
                raise ConnectionFailedError(
                    f"the change was accepted, but not within {self._timeout:.0f} s: {what}",
                    hint="check again later: lastword topic list",
                )
            self._clock.sleep(_PAUSE_SECONDS)


def _answers(connection: Connection, seen: Callable[[Mapping[str, Any]], bool]) -> bool:
    # A new client asks the broker it was started with; later it may ask any that it has met.
    client = AdminClient(connection.librdkafka())
    try:
        return seen(client.list_topics(timeout=_ANSWER_SECONDS).topics)
    except KafkaException:
        return False  # not an answer; retry until the deadline
    finally:
        client.poll(0)


def _means(found: tuple[str, str] | None, wanted: str | None) -> bool:
    """Whether the setting has the wanted value, in any notation: 0.010, "a, b", TRUE."""
    if found is None or wanted is None:
        return wanted is None and (found is None or found[1] != "topic")
    try:
        return float(found[0]) == float(wanted)
    except ValueError:
        words = [[word.strip() for word in text.lower().split(",")] for text in (found[0], wanted)]
        return words[0] == words[1]
