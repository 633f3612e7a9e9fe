"""Brings one store up to a given offset of its log, on the calling thread, and stops there."""

from __future__ import annotations

from lastword.clock import Clock
from lastword.follow.facts import TopicFacts
from lastword.follow.judge import Judge
from lastword.follow.partition import PartitionFollower
from lastword.kafka.connection import Connection
from lastword.kafka.log_reader import read_range
from lastword.stores.base import Store


def catch_up(
    connection: Connection,
    topic: str,
    partition: int,
    store: Store,
    *,
    facts: TopicFacts,
    until: int,
    clock: Clock,
    takes_empty_keys: bool = False,
) -> int:
    """Apply the log below ``until`` to ``store``; returns how many records were read.

    Goes on from the store's checkpoint where that is sound, and starts over where it is not:
    another log, or an absence in which a tombstone can have been missed.
    """
    # As if of one partition: whatever its task wrote there belongs to the store.
    judge = Judge(partitions=1, takes_empty_keys=takes_empty_keys)
    follower = PartitionFollower(partition, store, judge, clock)
    records = _read(connection, topic, follower, follower.begin(facts).offset, until)
    follower.go_live()
    if follower.sweep_due:
        start = follower.rebuild(facts, "deletes may have been missed").offset
        records += _read(connection, topic, follower, start, until)
        follower.go_live()
    return records


def _read(
    connection: Connection, topic: str, follower: PartitionFollower, start: int, until: int
) -> int:
    records = 0
    budget = follower.store.capabilities.restore_batch_bytes
    for batch in read_range(connection, topic, {follower.partition: (start, until)}):
        follower.accept(batch, gather=True)
        records += len(batch)
        if follower.gathered_bytes >= budget:
            follower.commit()
    # The last offsets may be transaction markers, which are read but never handed over.
    follower.advance(until)
    return records
