"""Whether a position still belongs to its log, after a change of the leader.

Only with a new leader, and a new epoch, can a log lose its tail and grow another one. So a position
of the current epoch needs no check, and one check per older epoch is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from lastword.kafka.admin.offsets import LogEnd
from lastword.kafka.log.lineage import lost_positions
from lastword.kafka.log.source import LogSource
from lastword.replicas.topic.topic_state import TopicState

if TYPE_CHECKING:
    from lastword.snapshots.catalog.snapshot import Snapshot, SnapshotMetadata
    from lastword.snapshots.travel.history import HistoryCommit, HistoryMetadata

C = TypeVar("C", "Snapshot", "HistoryCommit")


def why_torn(
    log_source: LogSource, topic_state: TopicState, metadata: SnapshotMetadata | HistoryMetadata
) -> str | None:
    """Why the log up to there was replaced; None if it was not, or without recorded epochs.

    Another topic of the same name is detected elsewhere.
    """
    if metadata.topic_id != topic_state.topic_id or len(metadata.offsets) != topic_state.partitions:
        return None
    places = {
        partition: LogEnd(metadata.offsets[partition], epoch)
        for partition, epoch in metadata.leader_epochs.items()
        if epoch >= 0 and epoch != topic_state.leader_epochs.get(partition)
    }
    lost = lost_positions(log_source, metadata.topic, places) if places else {}
    for partition, reason in lost.items():
        return f"partition {partition} has lost its tail since, and grown again: {reason}"
    return None


def not_torn(log_source: LogSource, topic_state: TopicState, newest_first: Iterable[C]) -> list[C]:
    """Those that are still of this log."""
    torn: dict[tuple[tuple[int, int], ...], bool] = {}
    kept = []
    for each in newest_first:
        epochs = _hashable(each.metadata.leader_epochs)
        if epochs not in torn:
            torn[epochs] = why_torn(log_source, topic_state, each.metadata) is not None
        if not torn[epochs]:
            kept.append(each)
    return kept


def _hashable(epochs: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(epochs.items()))
