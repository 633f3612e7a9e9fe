"""The cluster as the owned path of a partitioned table sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lastword.cluster.plan import Owner
from lastword.metrics import Metrics
from lastword.table.partitioned.messages import question_name
from lastword.table.partitioned.placement import Placement


class PlacedMembers:
    """The members of the application. Safe to use from any thread.

    The placement makes the offer, and a partition is owned here only once its copy is ready.
    """

    def __init__(self, placement: Placement, metrics: Metrics) -> None:
        self._placement = placement
        self._routed_writes = metrics.counter("routed_writes_total")
        self._reads = question_name(placement.topic)
        self._cluster = placement.cluster

    @property
    def instance_id(self) -> str:
        """The name of this instance."""
        return self._cluster.instance_id

    def offer(
        self,
        topic: str,
        partitions: int,
        on_plan: Callable[[Mapping[int, Any]], None],
        lags: Callable[[], Mapping[int, int]],
    ) -> None:
        """Have ``on_plan`` hear of each plan, and of partitions that have become ready."""
        self._placement.on_plan = on_plan

    def withdraw(self, topic: str) -> None:
        """Tell ``on_plan`` no more; the offer ends with the placement."""
        self._placement.on_plan = None

    def owner(self, topic: str, partition: int) -> Owner | None:
        """The owner in the last plan; None while its copy is not ready, if it is this process."""
        owner = self._cluster.owner(topic, partition)
        if owner is not None and owner.here and not self._placement.serves(partition):
            return None
        return owner

    def handle(self, name: str, handler: Callable[[bytes], bytes]) -> None:
        """Answer what peers ask under this name."""
        self._cluster.handle(name, handler)

    def ask(
        self,
        instance_id: str,
        name: str,
        payload: bytes,
        timeout_s: float,
        still: Callable[[], bool] | None = None,
    ) -> bytes:
        """Ask a peer, as ``Cluster.ask`` does."""
        if name != self._reads:
            self._routed_writes.add()
        return self._cluster.ask(instance_id, name, payload, timeout_s, still)
