"""What was seen of a topic's protection from compaction, and when.

Kafka does not record when a setting was changed. So a setting counts only for the time between two
looks at it, and what a log lost before the first look is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lastword.follow.facts import TopicFacts


class Look(NamedTuple):
    """At ``at_ms`` or a moment later, no record from ``ends`` on had been cleaned yet.

    ``known_at_ms`` is when that answer had arrived.
    """

    at_ms: int
    known_at_ms: int
    ends: dict[int, int]
    compaction_lag_ms: int


def look_at(facts: TopicFacts, known_at_ms: int) -> Look:
    """The cleaner never passes the last stable offset."""
    return Look(facts.at_ms, known_at_ms, dict(facts.stable_ends), facts.compaction_lag_ms)


class Looks:
    """The looks of one process, one after the other; of a long time with one setting, two."""

    def __init__(self) -> None:
        self._log: tuple[str, Mapping[int, int]] | None = None
        self._looks: tuple[Look, ...] = ()

    def note(self, facts: TopicFacts, known_at_ms: int) -> None:
        """Add one; its settings must be as fresh as its offsets."""
        # With a new leader the log may have lost its tail: what was seen of it may be void.
        if self._log != (log := (facts.topic_id, facts.leader_epochs)):
            self._log, self._looks = log, ()
        before = self._looks
        lag_ms = facts.compaction_lag_ms
        if len(before) > 1 and before[-1].compaction_lag_ms == before[-2].compaction_lag_ms:
            before = before[:-1] if before[-1].compaction_lag_ms == lag_ms else before
        self._looks = (*before, look_at(facts, known_at_ms))

    def of(self, topic_id: str) -> tuple[Look, ...]:
        """Those at the topic with this id, the oldest first."""
        return self._looks if self._log is not None and self._log[0] == topic_id else ()
