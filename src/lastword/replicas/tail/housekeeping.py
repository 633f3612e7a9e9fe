"""Refreshes the checkpoints of idle stores, and commits positions for lag tools."""

from __future__ import annotations

from lastword.clock import Clock
from lastword.kafka.groups.position_publisher import PositionPublisher
from lastword.replicas.held import HeldReplicas

HOUSEKEEPING_S = 10.0


class Housekeeping:
    """Periodic work, every few seconds. On the tailing thread."""

    def __init__(self, held: HeldReplicas, publisher: PositionPublisher, clock: Clock) -> None:
        self._held = held
        self._publisher = publisher
        self._clock = clock
        self._due_at = 0.0

    def check(self) -> None:
        """Do it if it is due."""
        if self._clock.monotonic() < self._due_at:
            return
        self._due_at = self._clock.monotonic() + HOUSEKEEPING_S
        live = [replica for replica in self._held.followed() if replica.live]
        for replica in live:
            with replica.lock:
                replica.follower.refresh_checkpoint()
        if live:
            self._publisher.publish({each.partition: each.position for each in live})

    def close(self) -> None:
        """Free the publisher."""
        self._publisher.close()
