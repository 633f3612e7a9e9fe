"""A member of the group whose one partition decides who leads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from lastword.errors import LastwordError
from lastword.kafka.connection import Connection
from lastword.kafka.groups.group_admin import GroupAdmin, StaticMember

log = logging.getLogger(__name__)

SESSION_TIMEOUT_MS = 6_000
"""The least a broker accepts by default: how long a dead member stays if no other one
evicts it."""
HEARTBEAT_MS = 500
"""How soon a member notices that it was evicted, or that another one joined."""
_REJOIN_MS = 30_000
_POLL_S = 0.1
_RETRY_S = 0.2


class GroupMember:
    """Joins ``group`` under a static instance id and stays in it until ``leave``.

    The group assigns the one partition of ``topic`` to one of its members. ``term`` says whether
    it is this one, and ``on_change`` is called after each rebalance, on the member's own thread.
    An evicted member rejoins automatically. One whose instance id another process has
    taken does not rejoin: ``failure`` says so.
    """

    def __init__(
        self,
        connection: Connection,
        group: str,
        topic: str,
        *,
        instance_id: str,
        client_id: str,
        restarts: bool,
        on_change: Callable[[], None],
    ) -> None:
        self.failure: str | None = None
        self.joined = False
        self.member_id = ""
        self._holds = False
        self._terms = 0
        self._group, self._topic = group, topic
        self._instance_id, self._client_id = instance_id, client_id
        self._restarts = restarts
        self._on_change = on_change
        self._settings = connection.librdkafka() | {
            "group.id": group,
            "group.instance.id": instance_id,
            "client.id": client_id,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "max.poll.interval.ms": _REJOIN_MS,
            "enable.auto.commit": False,
            "allow.auto.create.topics": False,
        }
        self._admin = GroupAdmin(connection, group)
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"member-{group}", daemon=True)

    @property
    def term(self) -> int:
        """How often this member was assigned the partition; 0 while it is not assigned."""
        return self._terms if self._holds else 0

    def join(self) -> None:
        """Start joining the group, with retries; ``joined`` says when it is done."""
        self._thread.start()

    def leave(self) -> None:
        """Leave at once, so that others need not wait for the session timeout; idempotent."""
        self._leaving.set()
        if self._thread.ident is None:
            return
        self._thread.join()
        member_id, self.member_id = self.member_id, ""
        if self.failure is None:
            # Closing its consumer does not make a static member leave.
            try:
                for me in self._seen_as(member_id):
                    self._admin.evict(me)
            except LastwordError as error:
                log.warning("%s: could not leave the group: %s", self._group, error)
        self._admin.close()

    def _seen_as(self, member_id: str) -> list[StaticMember]:
        """This member; without an id the group may still have it, because it was joining."""
        if member_id:
            return [StaticMember(member_id, self._instance_id, self._client_id, holds=False)]
        return [
            each
            for each in self._admin.members()
            if (each.instance_id, each.client_id) == (self._instance_id, self._client_id)
        ]

    def _run(self) -> None:
        while self._restarts and not self._leaving.is_set() and not self._evict_earlier_life():
            self._leaving.wait(_RETRY_S)
        try:
            consumer = Consumer(self._settings)
        except KafkaException as error:
            self._fail(str(error))
            return
        try:
            consumer.subscribe(
                [self._topic], on_assign=self._assigned, on_revoke=self._lost, on_lost=self._lost
            )
            while not self._leaving.is_set() and self.failure is None:
                message = consumer.poll(_POLL_S)
                if message is not None and message.error() is not None:
                    self._note(message.error())
        except KafkaException as error:
            self._fail(str(error))
        finally:
            consumer.close()

    def _evict_earlier_life(self) -> bool:
        """Whether no member has this instance id and another client id.

        A broker keeps the client id under which a static member first joined: the address in it
        would be that of a process that is gone.
        """
        try:
            for member in self._admin.members():
                if member.instance_id == self._instance_id and member.client_id != self._client_id:
                    self._admin.evict(member)
        except LastwordError as error:
            log.debug("%s: %s", self._group, error)
            return False
        return True

    def _assigned(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        # Nothing is read here: the control topic has its own reader.
        at_end = [TopicPartition(each.topic, each.partition, OFFSET_END) for each in partitions]
        consumer.incremental_assign(at_end)
        if partitions:
            consumer.pause(partitions)
            self._holds = True
            self._terms += 1
        self.member_id = consumer.memberid()  # from another thread the call was seen to hang
        self.joined = True
        self._on_change()

    def _lost(self, _consumer: Any, partitions: list[TopicPartition]) -> None:
        if partitions:
            self._holds = False
        self._on_change()

    def _note(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._fail(error.str())
        else:
            log.debug("%s: %s", self._group, error.str())

    def _fail(self, reason: str) -> None:
        log.error("%s: the membership of %s is over: %s", self._group, self._instance_id, reason)
        self._holds = False
        self.failure = reason
        self._on_change()
