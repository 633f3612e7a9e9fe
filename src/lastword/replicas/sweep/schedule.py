"""Decides when a partition is swept, and drops what a pass found once that is proven.

Everything here runs on the tailing thread, except the steps that are handed to the sweeper.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lastword.clock import Clock
from lastword.errors import LastwordError
from lastword.kafka.log.source import LogSource
from lastword.records import Batch
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.sweep.dead_rows import (
    Doomed,
    Offsets,
    SweepJob,
    SweepProgress,
    doomed_rows,
    find_dead,
    no_offsets,
)
from lastword.replicas.sweep.retention import LIVE_FLOOR_MS, SWEEP_INTERVAL_MS
from lastword.replicas.tail.inbox import Post
from lastword.replicas.tail.step_thread import StepThread
from lastword.replicas.topic.topic_state import TopicState

log = logging.getLogger(__name__)

RETRY_MS = 5_000
REACH_WITHIN_S = LIVE_FLOOR_MS / 1000
"""An end that took longer to reach is captured again: meanwhile a key may have been written beyond
it and its older records cleaned away, so that the table has not seen the key although it lives."""

Drop = Callable[[PartitionFollower, Doomed], int]
StableEndOf = Callable[[int], int]
"""partition -> the last stable offset: the cleaner never passes it, and a reader can reach it."""


@dataclass(frozen=True, slots=True)
class _CapturedEnd:
    offset: int
    at_s: float


class _Sweep:
    """One sweep on its way: find the dead rows, reach an end captured after that, drop them.

    ``expiry`` is one that only looks for rows before the start of the log.
    """

    def __init__(self, job: SweepJob, follower: PartitionFollower, at_ms: int, *, expiry: bool):
        self.job = job
        self.follower = follower
        self.at_ms = at_ms
        self.expiry = expiry
        self.progress = SweepProgress(job)
        self.dead: Offsets = no_offsets()
        self.duration_ms = 0
        self.dropped = 0
        self.to_reach: _CapturedEnd | None = None


class SweepSchedule:
    """At most one sweep per partition at a time and one a minute.

    ``first_pending`` are the partitions whose restore is not complete before their first sweep.
    """

    def __init__(
        self,
        log_source: LogSource,
        topic: str,
        *,
        clock: Clock,
        post: Post,
        drop: Drop,
        end_of: StableEndOf,
    ) -> None:
        self.first_pending: set[int] = set()
        self._clock = clock
        self._post = post
        self._drop = drop
        self._end_of = end_of
        self._sweeps: dict[int, _Sweep] = {}
        self._next_at_s: dict[int, float] = {}
        self._expired_below: dict[int, int] = {}
        self._sweeper = StepThread("sweeper")

        def read_log(partition: int, start: int, end: int) -> Iterator[Batch]:
            stopping = self._sweeper.stopping
            return log_source.read(topic, {partition: (start, end)}, stopping=stopping)

        self._read_log = read_log

    def start(self) -> None:
        """Begin waiting for work."""
        self._sweeper.start()

    def stop(self) -> None:
        """Abort the running sweep."""
        self._sweeper.stop()

    def consider(
        self, follower: PartitionFollower, topic_state: TopicState, *, first: bool
    ) -> None:
        """Start a sweep if one is due, allowed and not running.

        A live table first catches up: the records until then would only be swept again.
        """
        partition = follower.partition
        if not follower.live or partition in self._sweeps:
            return
        start = topic_state.starts[partition]
        due = follower.sweep_due and (
            first
            or (
                self._clock.monotonic() >= self._next_at_s.get(partition, 0.0)
                and not follower.soundness.lagging
            )
        )
        expired = start > self._expired_below.get(partition, 0)
        if first and (due or expired):
            self.first_pending.add(partition)
        if due:
            self._next_at_s[partition] = self._clock.monotonic() + SWEEP_INTERVAL_MS / 1000
            self._begin(follower, start, follower.position, expiry=False)
        elif expired:
            self._begin(follower, start, start, expiry=True)

    def check(self) -> None:
        """Continue the sweeps whose captured end has been reached."""
        for sweep in list(self._sweeps.values()):
            end = sweep.to_reach
            if end is None or sweep.follower.offsets.read_up_to < end.offset:
                continue
            sweep.to_reach = None
            in_time = self._clock.monotonic() - end.at_s <= REACH_WITHIN_S
            self._submit(sweep, self._collect if in_time else self._capture)

    def forget(self, partition: int, start: int | None = None) -> None:
        """The partition restarts: the result of a running sweep no longer applies to it.

        ``start`` is where its log starts if the store begins with nothing.
        """
        self._end(partition)
        self._next_at_s.pop(partition, None)
        self.first_pending.discard(partition)
        if start is not None:
            self._expired_below[partition] = start

    # -- on the sweeper's thread ---------------------------------------------------------------

    def _find(self, sweep: _Sweep) -> None:
        began_s = self._clock.monotonic()
        dead = find_dead(sweep.job, self._read_log, sweep.progress, self._sweeper.stopping)
        if self._sweeper.stopping():
            return  # the log was not read to the end, so what is missing from it is not dead
        duration_ms = int((self._clock.monotonic() - began_s) * 1000)
        self._post(lambda: self._found(sweep, dead, duration_ms))

    def _capture(self, sweep: _Sweep) -> None:
        at_s = self._clock.monotonic()
        end = _CapturedEnd(self._end_of(sweep.job.partition), at_s)

        def captured() -> None:
            sweep.to_reach = end

        self._post(captured)

    def _collect(self, sweep: _Sweep) -> None:
        for doomed in doomed_rows(sweep.job, sweep.dead, sweep.progress):
            if self._sweeper.stopping():
                return
            self._post(lambda rows=doomed: self._apply(sweep, rows))  # type: ignore[misc]
        self._post(lambda: self._finish(sweep))

    # -- on the tailing thread -----------------------------------------------------------------

    def _begin(self, follower: PartitionFollower, start: int, below: int, *, expiry: bool) -> None:
        bad_records = [(bad.key, bad.offset) for bad in follower.quarantine]
        job = SweepJob(follower.partition, follower.store, start, below, bad_records)
        sweep = _Sweep(job, follower, self._clock.now_ms(), expiry=expiry)
        self._sweeps[follower.partition] = sweep
        follower.sweep = sweep.progress
        if not expiry:
            follower.soundness.sweep_begins(sweep.at_ms)
        self._submit(sweep, self._find)

    def _submit(self, sweep: _Sweep, step: Callable[[_Sweep], None]) -> None:
        def run() -> None:
            try:
                step(sweep)
            except Exception as error:  # noqa: BLE001 - the next sweep needs this thread
                problem = error
                self._post(lambda: self._fail(sweep, problem))

        self._sweeper.submit(run)

    def _is_current(self, sweep: _Sweep) -> bool:
        return self._sweeps.get(sweep.job.partition) is sweep

    def _found(self, sweep: _Sweep, dead: Offsets, duration_ms: int) -> None:
        if not self._is_current(sweep):
            return
        sweep.dead, sweep.duration_ms = dead, duration_ms
        if len(dead):
            self._submit(sweep, self._capture)
        else:
            self._finish(sweep)

    def _apply(self, sweep: _Sweep, doomed: Doomed) -> None:
        if self._is_current(sweep):
            sweep.dropped += self._drop(sweep.follower, doomed)

    def _finish(self, sweep: _Sweep) -> None:
        if not self._is_current(sweep):
            return
        partition = sweep.job.partition
        self._end(partition)
        self.first_pending.discard(partition)
        if sweep.dropped and sweep.job.log_start > self._expired_below.get(partition, 0):
            sweep.follower.soundness.on_expiry()
        self._expired_below[partition] = sweep.job.log_start
        what = (partition, sweep.dropped, sweep.duration_ms)
        if sweep.expiry:
            log.info("partition %d: %d expired keys dropped, %d ms", *what)
            return
        log.info("swept partition %d: %d keys dropped, %d ms", *what)
        sweep.follower.swept(sweep.at_ms, sweep.duration_ms, sweep.dropped)

    def _end(self, partition: int) -> None:
        sweep = self._sweeps.pop(partition, None)
        if sweep is not None:
            sweep.follower.sweep = None

    def _fail(self, sweep: _Sweep, error: Exception) -> None:
        if not self._is_current(sweep):
            return
        partition = sweep.job.partition
        self._end(partition)
        unexpected = None if isinstance(error, LastwordError) else error
        log.warning(
            "sweeping partition %d failed, will retry: %s", partition, error, exc_info=unexpected
        )
        self._next_at_s[partition] = self._clock.monotonic() + RETRY_MS / 1000
