"""The lag of a pipeline: records of its sources that it has not processed yet."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.groups.names import pipeline_group
from lastword.records import TopicPartition

log = logging.getLogger(__name__)


class LagMeter:
    """Compares the ends of the sources with the committed positions from time to time.

    It only informs: if the broker does not answer, the last figures remain.
    """

    def __init__(
        self,
        connection: Connection,
        application_id: str,
        partitions: Mapping[str, int],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._application_id = application_id
        self._partitions = partitions
        self._groups = Groups(connection)
        self._admin = Admin(connection)
        self._clock = clock
        self._looking = threading.Lock()
        self._looked_at = float("-inf")
        self._lag: dict[str, int] = {}

    @property
    def lag(self) -> Mapping[str, int]:
        """Unprocessed records by source, as of the last look; empty before the first."""
        return self._lag

    def look(self, *, max_age_s: float = 0.0) -> None:
        """Update the lag, unless it is at most ``max_age_s`` old."""
        with self._looking:
            if self._clock.monotonic() - self._looked_at < max_age_s:
                return
            try:
                self._lag = lag_of(self._admin, self._committed(), self._partitions)
            except LastwordError as error:
                log.debug("cannot determine the lag of %s: %s", self._application_id, error)
            self._looked_at = self._clock.monotonic()

    def close(self) -> None:
        """Close the connections."""
        self._groups.close()
        self._admin.close()

    def _committed(self) -> Mapping[TopicPartition, Committed]:
        places = [
            TopicPartition(topic, p) for topic, n in self._partitions.items() for p in range(n)
        ]
        return self._groups.committed(pipeline_group(self._application_id), places)


def lag_of(
    admin: Admin, committed: Mapping[TopicPartition, Committed], partitions: Mapping[str, int]
) -> dict[str, int]:
    """The lag by topic; a partition without a position counts from its start."""
    lag: dict[str, int] = {}
    for topic, count in partitions.items():
        ends = admin.end_offsets(topic, range(count))
        new = [p for p in range(count) if TopicPartition(topic, p) not in committed]
        starts = admin.start_offsets(topic, new) if new else {}
        lag[topic] = sum(
            max(0, end - (starts[p] if p in starts else committed[TopicPartition(topic, p)].offset))
            for p, end in ends.items()
        )
    return lag
