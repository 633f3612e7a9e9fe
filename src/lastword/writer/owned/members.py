"""What the owned path needs from the cluster: the owners, and a way to ask other instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class NamedOwner(Protocol):
    """The owner of a partition in the plan with the number ``plan``."""

    @property
    def instance_id(self) -> str:
        """The instance."""

    @property
    def plan(self) -> int:
        """The number of the plan."""

    @property
    def here(self) -> bool:
        """Whether the owner is this process."""


class Members(Protocol):
    """The instances of one application, as seen by one of them. Safe to use from any thread."""

    @property
    def instance_id(self) -> str:
        """The id of this instance."""

    def offer(
        self,
        topic: str,
        partitions: int,
        on_plan: Callable[[Mapping[int, Any]], None],
        lags: Callable[[], Mapping[int, int]],
    ) -> None:
        """Offer to own partitions of the topic; ``on_plan`` is called with each new plan."""

    def withdraw(self, topic: str) -> None:
        """Withdraw the offer."""

    def owner(self, topic: str, partition: int) -> NamedOwner | None:
        """The owner in the last plan; None if it names none, or without a plan."""

    def handle(self, name: str, handler: Callable[[bytes], bytes]) -> None:
        """Register a handler for requests of peers with this name."""

    def ask(
        self,
        instance_id: str,
        name: str,
        payload: bytes,
        timeout_s: float,
        still: Callable[[], bool] | None = None,
    ) -> bytes:
        """Ask a peer, over one hop; the wait ends early once ``still`` returns False.

        Raises IndeterminateError if the peer may have carried out the request, and another
        LastwordError if it certainly has not.
        """
