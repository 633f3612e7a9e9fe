"""A cluster of one member, which owns everything: for tests of what is above the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Named(NamedTuple):
    instance_id: str
    plan: int
    here: bool


class OnlyMember:
    """Members of one process. ``owners`` may name others, and ``peers`` are asked for them."""

    def __init__(self, instance_id: str = "only") -> None:
        self.instance_id = instance_id
        self.plan = 1
        self.owners: dict[tuple[str, int], str | None] = {}
        self.peers: dict[str, OnlyMember] = {}
        self.handlers: dict[str, Callable[[bytes], bytes]] = {}
        self.listeners: dict[str, Callable[[Mapping[int, Any]], None]] = {}

    def offer(
        self,
        topic: str,
        partitions: int,
        on_plan: Callable[[Mapping[int, Any]], None],
        lags: Callable[[], Mapping[int, int]],
    ) -> None:
        self.listeners[topic] = on_plan

    def withdraw(self, topic: str) -> None:
        self.listeners.pop(topic, None)

    def owner(self, topic: str, partition: int) -> Named | None:
        owner = self.owners.get((topic, partition), self.instance_id)
        return None if owner is None else Named(owner, self.plan, owner == self.instance_id)

    def handle(self, name: str, handler: Callable[[bytes], bytes]) -> None:
        self.handlers[name] = handler

    def ask(
        self,
        instance_id: str,
        name: str,
        payload: bytes,
        timeout_s: float,
        still: Callable[[], bool] | None = None,
    ) -> bytes:
        return self.peers[instance_id].handlers[name](payload)

    def move(self, topic: str, partition: int, owner: str | None) -> None:
        """A new plan, which names another owner of a partition."""
        self.plan += 1
        self.owners[topic, partition] = owner
        if topic in self.listeners:
            self.listeners[topic]({})
