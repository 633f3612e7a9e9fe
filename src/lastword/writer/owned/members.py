"""What the owned path needs of the cluster: who owns what, and a way to ask the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class NamedOwner(Protocol):
    """The owner of a partition by the plan with the number ``plan``."""

    @property
    def instance_id(self) -> str:
        """The instance."""

    @property
    def plan(self) -> int:
        """The number of the plan."""

    @property
    def here(self) -> bool:
        """Whether it is this very process."""


class Members(Protocol):
    """The instances of one application, as seen by one of them. Safe to use from any thread."""

    @property
    def instance_id(self) -> str:
        """The name of this instance."""

    def offer(
        self,
        topic: str,
        partitions: int,
        on_plan: Callable[[Mapping[int, Any]], None],
        lags: Callable[[], Mapping[int, int]],
    ) -> None:
        """Say that this process can own partitions of the topic; ``on_plan`` hears of changes."""

    def withdraw(self, topic: str) -> None:
        """Take the offer back."""

    def owner(self, topic: str, partition: int) -> NamedOwner | None:
        """The owner by the last plan; None if there is none, or no plan yet."""

    def handle(self, name: str, handler: Callable[[bytes], bytes]) -> None:
        """Answer what peers ask under this name."""

    def ask(self, instance_id: str, name: str, payload: bytes, timeout_s: float) -> bytes:
        """Ask a peer, over one hop.

        Raises IndeterminateError if the peer may have worked on it, and another LastwordError if it
        certainly has not.
        """
