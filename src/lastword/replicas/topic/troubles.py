"""Why partitions cannot be followed: for the status of a table, and once for its log."""

from __future__ import annotations

import logging

from lastword.clock import Clock
from lastword.kafka.log.source import Unreadable
from lastword.replicas.topic.topic_state import TopicState

log = logging.getLogger(__name__)

REPEAT_S = 60.0
"""A corrupt batch is read twice a second, but logged only once in this time."""


class Troubles:
    """Written by the tailing thread, read from any.

    ``of`` has the partitions that cannot be followed, and why.
    """

    def __init__(self, topic: str, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock
        self._corrupt: dict[int, str] = {}
        self._silent: frozenset[int] = frozenset()
        self._gone = False
        self._say_again_at = 0.0

    @property
    def topic_gone(self) -> bool:
        """Whether the topic was deleted and is not there again."""
        return self._gone

    def of(self, partition: int) -> str | None:
        """Why the partition is not followed at the moment; None when it is."""
        if self._gone:
            return "the topic was deleted"
        silent = "its leader does not answer" if partition in self._silent else None
        return self._corrupt.get(partition, silent)

    def on_unreadable(self, bad: Unreadable) -> None:
        """The reader has met a corrupt batch."""
        cause = f"the batch at offset {bad.offset} is corrupt: {bad.reason}"
        if bad.partition not in self._corrupt or self._clock.monotonic() >= self._say_again_at:
            self._say_again_at = self._clock.monotonic() + REPEAT_S
            log.error("%s, partition %d: %s", self._topic, bad.partition, cause)
        self._corrupt[bad.partition] = cause

    def on_read(self, partition: int) -> None:
        """Records could be read again."""
        self._corrupt.pop(partition, None)

    def on_topic_state(self, topic_state: TopicState | None, *, topic_gone: bool) -> None:
        """A new topic state; None, for no answer, changes nothing unless the topic is gone."""
        if topic_state is not None:
            self._silent = topic_state.unanswered
        if topic_gone != self._gone:
            self._gone = topic_gone
            if topic_gone:
                log.error(
                    "%s was deleted: the table keeps its rows and marks its answers stale",
                    self._topic,
                )
