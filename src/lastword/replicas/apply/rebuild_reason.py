"""Why a store cannot continue from its checkpoint: it belongs to another log or table."""

from __future__ import annotations

from lastword.errors import PartitionCountError
from lastword.replicas.apply.checkpoint import Checkpoint
from lastword.replicas.topic.topic_state import TopicState


def why_rebuild(
    checkpoint: Checkpoint | None,
    topic_state: TopicState,
    partition: int,
    *,
    key_suffix_bytes: int,
    is_new: bool,
) -> str | None:
    """The reason to start over, or None if the store can continue.

    ``checkpoint`` is None for a new store, and for one whose checkpoint cannot be read. Raises
    PartitionCountError, because starting over would not help there.
    """
    if checkpoint is None:
        other = "the store was written by another version, or with other settings"
        return "the store is new" if is_new else other
    if checkpoint.cluster_id != topic_state.cluster_id:
        return f"the store belongs to another cluster, {checkpoint.cluster_id}"
    if checkpoint.topic_id != topic_state.topic_id:
        return "the topic was deleted and created again"
    if checkpoint.partitions != topic_state.partitions:
        raise PartitionCountError(
            f"the topic has {topic_state.partitions} partitions, the table was built with "
            f"{checkpoint.partitions}: keys have moved and old ones would never be deleted",
            hint="copy the topic into one with the wanted number of partitions",
        )
    if checkpoint.key_suffix_bytes != key_suffix_bytes:
        return "the store was written with a key codec by which keys are in other partitions"
    return _why_out_of_range(checkpoint.next_offset, topic_state, partition)


def refuse_other_partitions(topic: str, before: TopicState, now: TopicState) -> None:
    """Raise PartitionCountError if partitions were added while the table followed the topic."""
    if now.partitions != before.partitions:
        raise PartitionCountError(
            f"{topic} now has {now.partitions} partitions instead of {before.partitions}: "
            "keys have moved",
            hint="copy the topic into one with the wanted number of partitions, or open the table "
            "again if the topic was deleted and created again",
        )


def _why_out_of_range(next_offset: int, topic_state: TopicState, partition: int) -> str | None:
    start, end = topic_state.starts[partition], topic_state.ends[partition]
    if next_offset < start:
        return f"the log starts at {start} now, after the checkpoint {next_offset}"
    if next_offset > end:
        return f"the log ends at {end}, before the checkpoint {next_offset}"
    return None
