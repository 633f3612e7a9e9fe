"""What is known about a topic at one moment: the identity, settings and ends a follower needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lastword.kafka.admin import Admin

DEFAULT_DELETE_RETENTION_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One look at a topic; ``at_ms`` is before any of it was asked for.

    ``ends`` are high watermarks; ``stable_ends`` stop at the first open transaction. Kafka's
    cleaner leaves records younger than ``compaction_lag_ms`` alone.
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


def look_up(
    admin: Admin, topic: str, at_ms: int, *, settings_from: TopicFacts | None = None
) -> TopicFacts:
    """Ask the cluster. The ends are high watermarks: an open transaction does not hide them.

    With ``settings_from``, an earlier look, only identity and offsets are asked for, unless the
    topic is another one since.
    """
    info = admin.describe(topic)
    if settings_from is None or settings_from.topic_id != info.topic_id:
        cluster_id, settings = admin.cluster_id(), admin.settings(topic)
        retention_ms = int(settings.get("delete.retention.ms", DEFAULT_DELETE_RETENTION_MS))
        deletes_old_segments = "delete" in settings.get("cleanup.policy", "")
        lag_ms = int(settings.get("min.compaction.lag.ms", 0))
    else:
        cluster_id = settings_from.cluster_id
        retention_ms = settings_from.delete_retention_ms
        deletes_old_segments = settings_from.deletes_old_segments
        lag_ms = settings_from.compaction_lag_ms
    partitions = range(info.partitions)
    stable_ends = admin.stable_ends(topic, partitions)
    return TopicFacts(
        at_ms=at_ms,
        cluster_id=cluster_id,
        topic_id=info.topic_id,
        partitions=info.partitions,
        delete_retention_ms=retention_ms,
        deletes_old_segments=deletes_old_segments,
        starts=admin.start_offsets(topic, partitions),
        ends=admin.end_offsets(topic, partitions),
        stable_ends={p: end.offset for p, end in stable_ends.items()},
        compaction_lag_ms=lag_ms,
        leader_epochs={p: end.leader_epoch for p, end in stable_ends.items()},
    )
