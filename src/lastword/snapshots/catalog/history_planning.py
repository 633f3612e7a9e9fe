"""The offsets that the next commit of a history adds, and from where it is then complete."""

from __future__ import annotations

from dataclasses import dataclass

from lastword.errors import ConfigError, SnapshotError
from lastword.replicas.topic.topic_state import TopicState
from lastword.snapshots.travel.history import HistoryCommit
from lastword.snapshots.travel.log_completeness import LogCompleteness


@dataclass(frozen=True)
class HistoryPlan:
    """Of each partition, the offsets from ``starts`` to ``ends`` are added."""

    number: int
    starts: dict[int, int]
    ends: dict[int, int]
    held_from: dict[int, int]
    complete_from: dict[int, int]

    @property
    def changed(self) -> list[int]:
        """The partitions with records to read."""
        return sorted(p for p, end in self.ends.items() if self.starts[p] < end)


def plan_history(
    newest: HistoryCommit | None, topic_state: TopicState, found: LogCompleteness
) -> HistoryPlan:
    """Continue where the newest commit ended; ``found`` covers the time since that one."""
    starts, ends = dict(topic_state.starts), dict(topic_state.stable_ends)
    held_from, complete_from = dict(starts), {}
    if newest is not None:
        metadata = newest.metadata
        starts = {p: max(at, metadata.offsets[p]) for p, at in starts.items()}
        held_from = metadata.held_from
        complete_from = {
            p: at for p, at in newest.complete_from.items() if starts[p] == metadata.offsets[p]
        }
    for p, start in starts.items():
        # Below what is protected now, something may have gone since the newest commit.
        if p not in complete_from or not found.holds(p, start):
            complete_from[p] = max(start, min(found.complete_from[p], ends[p]))
    number = 0 if newest is None else newest.metadata.number + 1
    return HistoryPlan(number, starts, ends, held_from, complete_from)


def require_same_log(
    newest: HistoryCommit,
    topic_state: TopicState,
    uri: str,
    codecs: tuple[str, str],
    *,
    torn: str | None,
) -> None:
    """Raise SnapshotError if the history and the topic are not the same log."""
    metadata = newest.metadata
    if (metadata.topic_id, metadata.cluster_id) != (topic_state.topic_id, topic_state.cluster_id):
        reason = "another topic than the one that has the name now"
    elif len(metadata.offsets) != topic_state.partitions:
        reason = (
            f"{len(metadata.offsets)} partitions, and the topic has {topic_state.partitions} now"
        )
    elif torn is not None:
        reason = f"a log of which {torn}"
    elif any(at > topic_state.stable_ends[p] for p, at in metadata.offsets.items()):
        reason = "offsets that the topic has lost"
    elif (metadata.key_codec, metadata.value_codec) != codecs:
        raise ConfigError(
            f"{uri} was started with the codecs {metadata.key_codec} and {metadata.value_codec}",
            hint="give these, or move the history away to start a new one",
        )
    else:
        return
    raise SnapshotError(
        f"{uri} is the history of {reason}", hint="move it away; the next run starts a new one"
    )
