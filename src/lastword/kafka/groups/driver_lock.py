"""Being the one running driver of an application: the sole member of its consumer group.

Kafka ends the membership of a process that is gone or paused for too long, and refuses its commits.
So the group is the lock, and its generation the fencing token.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConnectionFailedError, FencedError
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Groups, Member

log = logging.getLogger(__name__)

SESSION_TIMEOUT_MS = 6_000
"""The minimum of a broker's default settings; a killed driver leaves the group after it."""

_HEARTBEAT_MS = 1_500
_POLL_S = 0.25


class DriverLock:
    """Joins ``group`` as its only member and holds on until ``leave`` or until it is lost.

    ``metadata`` proves the membership to the broker in every commit. A lost membership is never
    regained: rejoining would replace the successor.
    """

    def __init__(
        self,
        connection: Connection,
        group: str,
        control_topic: str,
        *,
        client_id: str,
        on_lost: Callable[[], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.group = group
        self.metadata: bytes = b""
        self._topic = control_topic
        self._client_id = client_id
        self._clock = clock
        self._on_lost = on_lost
        self._groups = Groups(connection, clock=clock)
        self._settings = connection.librdkafka() | {
            "group.id": group,
            "client.id": client_id,
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": _HEARTBEAT_MS,
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
        }
        self._answered = threading.Event()
        self._lost = threading.Event()
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"member-{group}", daemon=True)

    def join(self, timeout_s: float = 30.0) -> None:
        """Become the only member; raises FencedError naming the one that is there and alive."""
        self._wait_for_the_dead()
        self._thread.start()
        if not self._answered.wait(timeout_s):
            self.leave()
            raise ConnectionFailedError(
                f"joining the group {self.group!r} took more than {timeout_s:.0f} s",
                hint="is the broker reachable and its group coordinator up?",
            )
        if not self.metadata:
            # Both checked at the same time; the control topic's only partition decides.
            others = [m for m in self._groups.members(self.group) if m.client_id != self._client_id]
            self.leave()
            raise self._refusal(others[0] if others else None)

    @property
    def lost(self) -> bool:
        """Whether another driver has, or may have, taken over."""
        return self._lost.is_set()

    def leave(self) -> None:
        """Leave at once, so that a successor need not wait; idempotent."""
        self._leaving.set()
        # Once the lock is lost, the thread stops: its consumer must not be called again.
        if self._thread.ident is not None and not self._lost.is_set():
            self._thread.join()
        self._groups.close()

    def _wait_for_the_dead(self) -> None:
        """A member that is still there after a whole session is alive: refuse."""
        deadline = self._clock.monotonic() + SESSION_TIMEOUT_MS / 1000 + 1.0
        while members := self._groups.members(self.group):
            if self._clock.monotonic() >= deadline:
                raise self._refusal(members[0])
            self._clock.sleep(_POLL_S)

    def _refusal(self, first: Member | None) -> FencedError:
        who = (
            "another driver" if first is None else f"{first.client_id} at {first.host.lstrip('/')}"
        )
        return FencedError(
            f"the application {self.group!r} already runs: {who}",
            hint="stop that one first, or give this one another application id",
        )

    def _run(self) -> None:
        try:
            consumer = Consumer(self._settings)
            consumer.subscribe([self._topic], on_assign=self._assigned, on_lost=self._give_up)
            while not self._leaving.is_set():
                message = consumer.poll(_POLL_S)
                if message is not None and message.error() is not None:
                    log.debug("%s: %s", self.group, message.error().str())
            consumer.close()
        except KafkaException as error:
            self._lose(str(error))

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        # On the polling thread: from another one the call was seen to hang. A membership that
        # continues gets a new generation each time a member joins or leaves.
        if partitions:
            self.metadata = consumer.consumer_group_metadata()
        elif self.metadata:
            self._leaving.set()
            self._lose("another driver joined at the same moment and was preferred")
        self._answered.set()

    def _give_up(self, *_: object) -> None:
        """Never returns: librdkafka rejoins once this callback is over."""
        self._lose("the broker got no heartbeat for too long")
        threading.Event().wait()

    def _lose(self, reason: str) -> None:
        log.error("the membership in %s is lost: %s", self.group, reason)
        self._lost.set()
        self._on_lost()
