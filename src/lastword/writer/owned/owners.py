"""The partitions of one topic that this process owns according to the plan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from lastword.writer.owned.members import Members
from lastword.writer.owned.partition_owner import STOP_S, PartitionOwner


class Owners:
    """Starts and stops partition owners as the plan says. Safe to use from any thread."""

    def __init__(
        self,
        topic: str,
        partitions: int,
        members: Members,
        make: Callable[[int, Callable[[], int | None]], PartitionOwner],
    ) -> None:
        self._topic = topic
        self._partitions = range(partitions)
        self._members = members
        self._make = make
        self._lock = threading.Lock()
        self._closed = False
        self._owners: dict[int, PartitionOwner] = {}

    @property
    def here(self) -> Mapping[int, PartitionOwner]:
        """The owners in this process; the mapping is never changed, only replaced."""
        return self._owners

    def follow_plan(self, _assignments: Mapping[int, Any] | None = None) -> None:
        """Own the partitions that the plan assigns to this process, and no others."""
        with self._lock:
            if self._closed:
                return
            named = {p for p in self._partitions if self._plan_naming(p) is not None}
            leaving = [owner for p, owner in self._owners.items() if p not in named]
            coming = {p: self._made(p) for p in sorted(named - self._owners.keys())}
            kept = {p: owner for p, owner in self._owners.items() if p in named}
            self._owners = kept | coming
        for owner in leaving:
            owner.stop(0.0)  # its thread completes the batch and releases the partition
        for owner in coming.values():
            owner.start()

    def close(self) -> None:
        """Release everything; idempotent."""
        with self._lock:
            self._closed = True
            leaving, self._owners = self._owners, {}
        for owner in leaving.values():
            owner.stop(0.0)
        for owner in leaving.values():
            owner.stop(STOP_S)

    def _made(self, partition: int) -> PartitionOwner:
        return self._make(partition, lambda: self._plan_naming(partition))

    def _plan_naming(self, partition: int) -> int | None:
        owner = self._members.owner(self._topic, partition)
        return owner.plan if owner is not None and owner.here else None
