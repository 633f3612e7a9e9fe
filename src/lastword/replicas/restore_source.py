"""Fills a store that would start empty from something faster than its log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from lastword.errors import SnapshotError
from lastword.replicas.apply.checkpoint import Checkpoint
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.topic.topic_state import TopicState

log = logging.getLogger(__name__)

_BEING_FILLED = b"being filled"
"""Marks an incomplete load: a store that is opened with it starts over."""


@dataclass(frozen=True)
class RestorePoint:
    """One partition of a table at ``next_offset``, known to be whole at ``caught_up_at_ms``.

    ``leader_epoch`` detects a log that was truncated since then and has grown again; -1 if it is
    not known. ``rows`` yields chunks of about the given size, of rows as a store keeps them, and
    may raise SnapshotError.
    """

    name: str
    next_offset: int
    leader_epoch: int
    caught_up_at_ms: int
    delete_retention_ms: int
    rows: Callable[[int], Iterator[Mapping[bytes, bytes]]]


class RestoreSource(Protocol):
    """A source of rows; asked on the tailing thread before a partition is rebuilt."""

    def points(self, partition: int, topic_state: TopicState) -> Iterable[RestorePoint]:
        """The usable offers for this log, best first; logs why others cannot be used."""


def fill(
    follower: PartitionFollower, topic_state: TopicState, source: RestoreSource
) -> Iterator[int]:
    """Put the first offer that can be read to its end into the empty store, with a checkpoint.

    Yields how many rows went in, chunk by chunk. The follower can begin in any case: without a
    usable offer, or if this is aborted, its store starts over.
    """
    store, partition = follower.store, follower.partition
    for point in source.points(partition, topic_state):
        try:
            for rows in point.rows(store.capabilities.restore_batch_bytes):
                store.apply(rows, (), _BEING_FILLED)
                yield len(rows)
        except SnapshotError as error:
            log.warning("partition %d is not filled from %s: %s", partition, point.name, error)
            store.clear()
            continue
        follower.adopt(_checkpoint(point, topic_state, follower.keyspace.suffix_bytes))
        log.info("partition %d is filled from %s", partition, point.name)
        return


def _checkpoint(point: RestorePoint, topic_state: TopicState, key_suffix_bytes: int) -> Checkpoint:
    return Checkpoint(
        cluster_id=topic_state.cluster_id,
        topic_id=topic_state.topic_id,
        partitions=topic_state.partitions,
        next_offset=point.next_offset,
        leader_epoch=point.leader_epoch,
        caught_up_at_ms=point.caught_up_at_ms,
        delete_retention_ms=point.delete_retention_ms,
        key_suffix_bytes=key_suffix_bytes,
    )
