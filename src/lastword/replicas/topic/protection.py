"""The observed protection of a topic from compaction, with times.

Kafka does not record when a setting was changed. So a setting counts only for the time between two
observations, and what a log lost before the first one is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

from lastword.replicas.topic.topic_state import TopicState


class ObservedProtection(NamedTuple):
    """At ``at_ms`` or a moment later, no record from ``ends`` on had been cleaned yet.

    ``answered_at_ms`` is when that answer had arrived.
    """

    at_ms: int
    answered_at_ms: int
    ends: dict[int, int]
    compaction_lag_ms: int


def protection_seen(topic_state: TopicState, answered_at_ms: int) -> ObservedProtection:
    """The cleaner never passes the last stable offset."""
    return ObservedProtection(
        topic_state.at_ms,
        answered_at_ms,
        dict(topic_state.stable_ends),
        topic_state.compaction_lag_ms,
    )


class ProtectionLog:
    """The observations of one process, in order; for a long time with one setting, two.

    Written by one thread at a time, read from any.
    """

    def __init__(self) -> None:
        # One tuple, so that no reader mixes the observations of two logs.
        self._at: tuple[TopicState, tuple[ObservedProtection, ...]] | None = None

    def record(self, topic_state: TopicState, answered_at_ms: int) -> None:
        """Add one; its settings must be as fresh as its offsets."""
        before: tuple[ObservedProtection, ...] = ()
        if self._at is not None and _same_log(self._at[0], topic_state):
            before = self._at[1]
        lag_ms = topic_state.compaction_lag_ms
        if (
            len(before) > 1
            and before[-2].compaction_lag_ms == lag_ms == before[-1].compaction_lag_ms
        ):
            before = before[:-1]
        self._at = (topic_state, (*before, protection_seen(topic_state, answered_at_ms)))

    def of(self, topic_state: TopicState) -> tuple[ObservedProtection, ...]:
        """The observations of exactly this log, oldest first."""
        at = self._at
        return at[1] if at is not None and _same_log(at[0], topic_state) else ()


def _same_log(one: TopicState, other: TopicState) -> bool:
    """Drop the observations: with a new leader the log may have lost its tail."""
    return (one.topic_id, one.leader_epochs) == (other.topic_id, other.leader_epochs)
