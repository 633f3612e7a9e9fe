"""Decides when a partition is swept and carries the results back to the tailing thread.

Everything here runs on the tailing thread except the passes themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from lastword.clock import Clock
from lastword.follow.facts import TopicFacts
from lastword.follow.partition import PartitionFollower
from lastword.follow.retention import SWEEP_INTERVAL_MS
from lastword.follow.sweep import Doomed, SweepEnd, Sweeper, SweepJob, rows_below
from lastword.kafka.connection import Connection
from lastword.kafka.log_reader import read_range
from lastword.records import Batch

log = logging.getLogger(__name__)

RETRY_MS = 5_000

Post = Callable[[Callable[[], None]], None]
Drop = Callable[[PartitionFollower, Doomed], int]


class SweepSchedule:
    """At most one pass per partition at a time and one a minute.

    ``first_pending`` are the partitions whose restore is not complete before their first pass.
    """

    def __init__(
        self, connection: Connection, topic: str, clock: Clock, post: Post, drop: Drop
    ) -> None:
        self.first_pending: set[int] = set()
        self._clock = clock
        self._post = post
        self._drop = drop
        self._jobs: dict[int, tuple[SweepJob, PartitionFollower]] = {}
        self._dropped: dict[int, int] = {}
        self._next_at_ms: dict[int, int] = {}

        def read_log(partition: int, start: int, end: int) -> Iterator[Batch]:
            stopping = self._sweeper.stopping.is_set
            return read_range(connection, topic, {partition: (start, end)}, stopping=stopping)

        self._sweeper = Sweeper(read_log, clock, self._on_doomed, self._on_end)

    def start(self) -> None:
        """Begin waiting for work."""
        self._sweeper.start()

    def stop(self) -> None:
        """Give up what is under way."""
        self._sweeper.stop()

    def consider(self, follower: PartitionFollower, facts: TopicFacts, *, first: bool) -> None:
        """Start a pass if one is due, allowed and not under way."""
        partition, now_ms = follower.partition, self._clock.now_ms()
        if not (follower.live and follower.sweep_due) or partition in self._jobs:
            return
        if first:
            self.first_pending.add(partition)
        elif now_ms < self._next_at_ms.get(partition, 0):
            return
        bad_records = [(bad.key, bad.offset) for bad in follower.quarantine.values()]
        job = SweepJob(
            partition=partition,
            store=follower.store,
            log_start=facts.starts[partition],
            below=follower.position,
            at_ms=now_ms,
            quarantined=bad_records,
        )
        self._jobs[partition] = (job, follower)
        self._dropped[partition] = 0
        self._next_at_ms[partition] = now_ms + SWEEP_INTERVAL_MS
        self._sweeper.submit(job)

    def trim(self, follower: PartitionFollower, below: int) -> None:
        """Drop the rows whose record lies before the start of the log."""
        bad_records = [(bad.key, bad.offset) for bad in follower.quarantine.values()]
        self._drop(follower, [each for each in bad_records if each[1] < below])
        for doomed in rows_below(follower.store, below):
            self._drop(follower, doomed)

    def forget(self, partition: int) -> None:
        """The partition begins anew: what a pass under way finds is no longer about it."""
        self._jobs.pop(partition, None)
        self._next_at_ms.pop(partition, None)
        self.first_pending.discard(partition)

    def _on_doomed(self, job: SweepJob, doomed: Doomed) -> None:
        self._post(lambda: self._apply(job, doomed))

    def _on_end(self, end: SweepEnd) -> None:
        self._post(lambda: self._finish(end))

    def _apply(self, job: SweepJob, doomed: Doomed) -> None:
        current, follower = self._jobs.get(job.partition, (None, None))
        if current is job and follower is not None:
            self._dropped[job.partition] += self._drop(follower, doomed)

    def _finish(self, end: SweepEnd) -> None:
        partition = end.job.partition
        current, follower = self._jobs.get(partition, (None, None))
        if current is not end.job or follower is None:
            return
        del self._jobs[partition]
        if end.failure is not None:
            log.warning("sweeping partition %d failed, will retry: %s", partition, end.failure)
            self._next_at_ms[partition] = self._clock.now_ms() + RETRY_MS
            return
        dropped = self._dropped.pop(partition)
        log.info("swept partition %d: %d keys dropped, %d ms", partition, dropped, end.duration_ms)
        self.first_pending.discard(partition)
        follower.swept(end.job.at_ms, end.duration_ms, dropped)
