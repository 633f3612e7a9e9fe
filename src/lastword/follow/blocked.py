"""Partitions whose log seems to end before the captured end, and what that means.

An open transaction hides what comes after it until it ends: wait. Offsets compacted away at the
very end of a log never arrive: go on without them. Apache Kafka keeps the last offset, other
brokers may not. The last stable offset tells the two apart.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from lastword.follow.facts import TopicFacts

log = logging.getLogger(__name__)

TAIL_GAP_LOOKS = 3


class BlockedEnds:
    """How often each blocked partition was seen with nothing left to wait for.

    A look counts only if the reader came back empty-handed since the one before: looks pile up
    while a slow store keeps the tailing thread, and prove nothing then.
    """

    def __init__(self) -> None:
        self._looks: dict[int, int] = {}
        self._idle = False

    def __contains__(self, partition: int) -> bool:
        return partition in self._looks

    def add(self, partition: int) -> None:
        """The log ended before the captured end."""
        self._looks.setdefault(partition, 0)

    def discard(self, partition: int) -> None:
        """Something arrived, or the captured end is reached."""
        self._looks.pop(partition, None)

    def note_idle(self) -> None:
        """The reader waited and nothing came, from any partition."""
        self._idle = True

    def tail_gaps(self, facts: TopicFacts, targets: dict[int, int]) -> Iterator[int]:
        """Partitions that no transaction blocks and where nothing has come for several looks."""
        idle, self._idle = self._idle, False
        for partition in list(self._looks):
            if facts.stable_ends[partition] < targets[partition]:
                self._looks[partition] = 0
                continue
            self._looks[partition] += idle
            if self._looks[partition] >= TAIL_GAP_LOOKS:
                log.info("partition %d ends in a gap before %d", partition, targets[partition])
                self.discard(partition)
                yield partition
