"""What is known about a topic at one moment: the identity, settings and ends a follower needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lastword.kafka.admin import Admin
from lastword.kafka.admin.offsets import LogBounds

DEFAULT_DELETE_RETENTION_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TopicState:
    """The state of a topic; ``at_ms`` is before any of it was asked for.

    ``ends`` are high watermarks; ``stable_ends`` stop at the first open transaction. Kafka's
    cleaner leaves records younger than ``compaction_lag_ms`` alone. The leaders of the
    ``unanswered`` partitions did not answer: their offsets are those of an earlier state.
    """

    at_ms: int
    cluster_id: str
    topic_id: str
    partitions: int
    delete_retention_ms: int
    deletes_old_segments: bool
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    stable_ends: Mapping[int, int]
    compaction_lag_ms: int = 0
    leader_epochs: Mapping[int, int] = field(default_factory=dict)
    unanswered: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for p, start in self.starts.items():
            if not 0 <= start <= self.stable_ends[p] <= self.ends[p]:
                raise ValueError(
                    f"partition {p} cannot start at {start}, be stable up to "
                    f"{self.stable_ends[p]} and end at {self.ends[p]}"
                )


def read_topic_state(
    admin: Admin,
    topic: str,
    at_ms: int,
    *,
    before: TopicState | None = None,
    settings: bool = True,
) -> TopicState:
    """Ask the cluster. The ends are high watermarks: an open transaction does not hide them.

    Raises ConnectionFailedError unless every leader answers. With an earlier state of the same
    topic as ``before``, a silent leader only makes its partition ``unanswered``, and without
    ``settings`` those of that state are used.
    """
    info = admin.describe(topic)
    partitions = range(info.partitions)
    same = before is not None and before.topic_id == info.topic_id
    if before is None or not same or len(before.starts) != info.partitions:
        cluster_id, known = admin.cluster_id(), _settings(admin, topic)
        bounds, unanswered = admin.bounds(topic, partitions), frozenset[int]()
    else:
        cluster_id = before.cluster_id
        known = _settings(admin, topic) if settings else _settings_of(before)
        bounds = admin.bounds_answered(topic, partitions)
        unanswered = frozenset(partitions) - bounds.keys()
        bounds |= {p: _bounds_of(before, p) for p in unanswered}
    return TopicState(
        at_ms=at_ms,
        cluster_id=cluster_id,
        topic_id=info.topic_id,
        partitions=info.partitions,
        delete_retention_ms=known.delete_retention_ms,
        deletes_old_segments=known.deletes_old_segments,
        starts={p: each.start for p, each in bounds.items()},
        ends={p: each.end for p, each in bounds.items()},
        stable_ends={p: each.stable_end for p, each in bounds.items()},
        compaction_lag_ms=known.compaction_lag_ms,
        leader_epochs={p: each.leader_epoch for p, each in bounds.items()},
        unanswered=unanswered,
    )


class _Settings(NamedTuple):
    """The settings of a topic that decide how a follower treats it."""

    delete_retention_ms: int
    deletes_old_segments: bool
    compaction_lag_ms: int


def _settings(admin: Admin, topic: str) -> _Settings:
    found = admin.settings(topic)
    return _Settings(
        int(found.get("delete.retention.ms", DEFAULT_DELETE_RETENTION_MS)),
        "delete" in found.get("cleanup.policy", ""),
        int(found.get("min.compaction.lag.ms", 0)),
    )


def _settings_of(topic_state: TopicState) -> _Settings:
    return _Settings(
        topic_state.delete_retention_ms,
        topic_state.deletes_old_segments,
        topic_state.compaction_lag_ms,
    )


def _bounds_of(topic_state: TopicState, partition: int) -> LogBounds:
    return LogBounds(
        topic_state.starts[partition],
        topic_state.stable_ends[partition],
        topic_state.ends[partition],
        topic_state.leader_epochs[partition],
    )
