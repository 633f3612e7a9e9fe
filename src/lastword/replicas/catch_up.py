"""Brings one store up to a given offset of its log, on the calling thread, and stops there."""

from __future__ import annotations

from collections.abc import Iterator

from lastword.clock import Clock
from lastword.kafka.log.source import LogSource
from lastword.keyspace import Keyspace
from lastword.records import Batch
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.sweep.dead_rows import SweepJob, SweepProgress, doomed_rows, find_dead
from lastword.replicas.topic.topic_state import TopicState
from lastword.stores.base import Store


def catch_up(
    log_source: LogSource,
    topic: str,
    partition: int,
    store: Store,
    *,
    topic_state: TopicState,
    until: int,
    clock: Clock,
    takes_empty_keys: bool = False,
) -> int:
    """Apply the log below ``until`` to ``store``; returns how many records were read.

    Continues from the store's checkpoint if that is sound. Starts over if the log is another one,
    or if a tombstone can have been missed. If starting over took so long that one can have been
    missed again, the store is swept until that is ruled out.
    """
    # As if of one partition: every key that its task wrote belongs to the store.
    record_filter = RecordFilter(Keyspace(1), takes_empty_keys=takes_empty_keys)
    follower = PartitionFollower(partition, store, record_filter, clock)
    records = _read(log_source, topic, follower, follower.begin(topic_state).offset, until)
    follower.go_live()
    if follower.sweep_due:
        start = follower.rebuild(topic_state, "deletes may have been missed").offset
        records += _read(log_source, topic, follower, start, until)
        follower.go_live()
    while follower.sweep_due:
        _sweep(log_source, topic, follower, topic_state.starts[partition], clock)
    return records


def _sweep(
    log_source: LogSource, topic: str, follower: PartitionFollower, start: int, clock: Clock
) -> None:
    """One pass over a log that the store has read completely and that gets no more writes."""
    at_ms, began_s = clock.now_ms(), clock.monotonic()
    job = SweepJob(follower.partition, follower.store, start, follower.position, [])
    progress = SweepProgress(job)

    def read_log(partition: int, first: int, end: int) -> Iterator[Batch]:
        return log_source.read(topic, {partition: (first, end)})

    dead = find_dead(job, read_log, progress)
    doomed = doomed_rows(job, dead, progress) if len(dead) else ()
    dropped = sum(len(follower.drop(rows)) for rows in doomed)
    follower.soundness.reach(clock.now_ms(), follower.soundness.retention_ms)
    follower.swept(at_ms, int((clock.monotonic() - began_s) * 1000), dropped)


def _read(
    log_source: LogSource, topic: str, follower: PartitionFollower, start: int, until: int
) -> int:
    records = 0
    budget = follower.store.capabilities.restore_batch_bytes
    for batch in log_source.read(topic, {follower.partition: (start, until)}):
        follower.accept(batch, gather=True)
        records += len(batch)
        if follower.gathered.size_bytes >= budget:
            follower.commit()
    # The last offsets may be transaction markers, which are read but never returned.
    follower.advance(until)
    return records
