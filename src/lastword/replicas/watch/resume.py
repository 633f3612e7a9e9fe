"""Whether a watch can resume from a position without silently missing a change.

A tombstone beyond a position was written after the moment the position is complete at, so it stays
in the log for ``delete.retention.ms`` after that moment. Later it may be gone, and a delete that a
sweep found has no record at all: then the watch is refused.
"""

from __future__ import annotations

from lastword.errors import WatchLostError
from lastword.records import Position
from lastword.replicas.held import Replicas
from lastword.replicas.replica import not_here
from lastword.replicas.topic.topic_state import TopicState

READ_AGAIN = "read the table, then watch from the position of that answer"


def refuse_what_is_gone(start: Position, topic_state: TopicState, replicas: Replicas) -> None:
    """Raise WatchLostError unless every change since ``start`` is still available.

    Raises PartitionNotHereError for a partition that is held elsewhere.
    """
    refuse_another_log(start, topic_state)
    for partition in start.offsets:
        if partition not in replicas:
            raise not_here("the topic", partition)
    refuse_what_may_be_missing(start, replicas)


def refuse_another_log(start: Position, topic_state: TopicState) -> None:
    """Raise WatchLostError unless the topic's log still has every offset since ``start``."""
    if not start.offsets:
        return
    if not start.topic_id:
        raise WatchLostError(
            f"the position {start} does not name its topic; one that was deleted and "
            "created again has other records at the same offsets",
            hint="use the position of an answer, a watch or an event, or add @TOPIC-ID to it",
        )
    if start.is_foreign_to(topic_state.topic_id):
        raise WatchLostError(
            f"the position {start} belongs to a topic that was deleted; the new topic with "
            f"its name has the id {topic_state.topic_id}",
            hint=READ_AGAIN,
        )
    for partition, offset in start.offsets.items():
        if partition >= topic_state.partitions:
            raise WatchLostError(
                f"partition {partition} does not exist, so it cannot be watched",
                hint="a position names partitions of this table's topic",
            )
        if offset < topic_state.starts[partition]:
            raise WatchLostError(
                f"partition {partition} starts at {topic_state.starts[partition]}, after {offset}",
                hint=READ_AGAIN,
            )


def refuse_what_may_be_missing(start: Position, replicas: Replicas) -> None:
    """Raise WatchLostError if a delete since ``start`` may have left the log.

    Asked before the log is read from there and again after that. A position without a time asks
    only for what is still in the log.
    """
    if not start.complete_at_ms:
        return
    for partition in start.offsets:
        replica = replicas.get(partition)
        if replica is None:
            raise not_here("the topic", partition)
        if replica.soundness.may_have_lost_deletes_since(start.complete_at_ms):
            raise WatchLostError(
                f"deletes in partition {partition} since {start} may have left the log, or never "
                "had a record there: it is older than delete.retention.ms, keys have expired "
                "since, or a sweep found deletes without a tombstone",
                hint=READ_AGAIN,
            )
