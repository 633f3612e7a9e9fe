"""Deletes processed records from repartition topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.records import TopicPartition

PURGE_INTERVAL_S = 30.0


class RepartitionPurge:
    """Purges ``topics`` up to the committed positions, periodically and at the end of a run."""

    def __init__(
        self,
        connection: Connection,
        topics: Collection[str],
        committed: Callable[[], Mapping[TopicPartition, Committed]],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._connection = connection
        self._topics = sorted(topics)
        self._committed = committed
        self._clock = clock
        self._purged_at = clock.monotonic()

    def if_due(self) -> None:
        """Purge, unless the last purge was less than half a minute ago."""
        if self._clock.monotonic() - self._purged_at >= PURGE_INTERVAL_S:
            self.now()

    def now(self) -> None:
        """Delete the processed records now."""
        self._purged_at = self._clock.monotonic()
        if not self._topics:
            return
        committed = self._committed()
        with Admin(self._connection) as admin:
            for topic in self._topics:
                done = {p.partition: at.offset for p, at in committed.items() if p.topic == topic}
                if done:
                    admin.delete_before(topic, done)
