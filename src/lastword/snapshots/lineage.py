"""Whether what was read from a log is still a part of it, after its leader has changed.

Only with a new leader, and a new epoch, can a log lose its tail and grow another one. So a position
of the current epoch needs no question, and of the others one for each epoch will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from lastword.follow.facts import TopicFacts
from lastword.kafka.connection import Connection
from lastword.kafka.lineage import lost_places
from lastword.kafka.log_offsets import LogEnd

if TYPE_CHECKING:
    from lastword.snapshots.history import HistoryCommit, HistoryNote
    from lastword.snapshots.snapshot import Snapshot, SnapshotNote

C = TypeVar("C", "Snapshot", "HistoryCommit")


def why_torn(
    connection: Connection, facts: TopicFacts, note: SnapshotNote | HistoryNote
) -> str | None:
    """Why the log is not what it was up to there; None when it is, or nobody noted its epochs.

    A topic that is another one altogether is for others to notice.
    """
    if note.topic_id != facts.topic_id or len(note.offsets) != facts.partitions:
        return None
    places = {
        partition: LogEnd(note.offsets[partition], epoch)
        for partition, epoch in note.leader_epochs.items()
        if epoch >= 0 and epoch != facts.leader_epochs.get(partition)
    }
    lost = lost_places(connection, note.topic, places) if places else {}
    for partition, reason in lost.items():
        return f"partition {partition} has lost its tail since, and grown again: {reason}"
    return None


def not_torn(connection: Connection, facts: TopicFacts, newest_first: Iterable[C]) -> list[C]:
    """Those that are still of this log."""
    torn: dict[tuple[tuple[int, int], ...], bool] = {}
    kept = []
    for each in newest_first:
        epochs = _hashable(each.note.leader_epochs)
        if epochs not in torn:
            torn[epochs] = why_torn(connection, facts, each.note) is not None
        if not torn[epochs]:
            kept.append(each)
    return kept


def _hashable(epochs: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(epochs.items()))
