"""Watching a table whose partitions are elsewhere: the changes come from the log itself.

Owners come and go, the log stays. So a position of it is good wherever the partitions are, and a
hand-over or the end of an instance neither loses a change nor repeats one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from lastword.clock import Clock
from lastword.errors import LastwordError, WatchLostError
from lastword.kafka.log.source import EndOfLog, LogSource, PositionLost
from lastword.records import Batch, Position
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.sweep.retention import live_lag_too_long, may_have_missed_deletes
from lastword.replicas.watch.missed import MissedChanges
from lastword.replicas.watch.resume import READ_AGAIN, refuse_another_log

_QUEUE_BYTES = 4 << 20


class LoggedChanges(MissedChanges):
    """The changes since a position in all partitions, those that are held elsewhere included."""

    def __init__(
        self, replicas: ReplicaSet, log_source: LogSource, since: Position, clock: Clock
    ) -> None:
        self.since = since
        self._replicas, self._log_source, self._clock = replicas, log_source, clock
        refuse_another_log(since, replicas.topic_state)
        self.check()

    def check(self) -> None:
        """Raise WatchLostError if a delete since ``since`` may have left the log."""
        at_ms = self.since.complete_at_ms
        retention_ms = self._replicas.topic_state.delete_retention_ms
        if at_ms and may_have_missed_deletes(self._clock.now_ms() - at_ms, retention_ms):
            raise WatchLostError(
                f"deletes since {self.since} may have left the log: it is older than "
                "delete.retention.ms",
                hint=READ_AGAIN,
            )


class LogWatch:
    """A ChangeSource that follows the log of every partition from ``start`` on.

    It reads no faster than its taker. ``taken`` gets the position after each batch that is handed
    over. ``ensure_open`` raises once the table is closed.
    """

    def __init__(
        self,
        replicas: ReplicaSet,
        log_source: LogSource,
        start: Position,
        *,
        taken: Callable[[Position], None],
        ensure_open: Callable[[], None],
        clock: Clock,
    ) -> None:
        self.start = self.origin = start
        self._replicas, self._clock = replicas, clock
        self._taken, self._ensure_open = taken, ensure_open
        self._read_up_to = dict(start.offsets)
        self._news: deque[Batch | EndOfLog] = deque()
        self._lost: WatchLostError | None = None
        self._closed = threading.Event()
        self._reader = log_source.follow(replicas.topic, queue_bytes=_QUEUE_BYTES)
        for partition, offset in start.offsets.items():
            self._reader.assign(partition, offset)

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed.is_set()

    def take(self, timeout_s: float) -> Batch | Position:
        """The next batch; when none comes within ``timeout_s``, where the watch is."""
        batch = self.take_live(timeout_s)
        if batch is None:
            self.origin = replace(self.origin, offsets=dict(self._read_up_to))
            return self.origin
        return batch

    def take_live(self, timeout_s: float) -> Batch | None:
        """The next batch, if one comes in time; raises WatchLostError once it cannot go on."""
        if not self._news and not self.closed:
            self._check()
            self._poll(timeout_s)
        while self._news:
            item = self._news.popleft()
            if isinstance(item, EndOfLog):
                self._read_up_to[item.partition] = item.offset
                continue
            self._read_up_to[item.partition] = item.next_offset
            self._taken(Position({item.partition: item.next_offset}, self.start.topic_id))
            return item
        return None

    def cut_off(self, reason: WatchLostError) -> None:
        """End the watch; the taker gets the reason after the batches that wait."""
        self._lost = reason

    def close(self) -> None:
        """Stop watching; idempotent."""
        self._closed.set()
        self._reader.close()

    def _poll(self, timeout_s: float) -> None:
        try:
            news = self._reader.poll(timeout_s)
        except RuntimeError:  # closed by another thread
            if self.closed:
                return
            raise
        for item in news:
            if isinstance(item, Batch | EndOfLog):
                self._news.append(item)
            elif isinstance(item, PositionLost):
                self._lost = WatchLostError(
                    f"partition {item.partition} of {self._replicas.topic} cannot be followed: "
                    f"{item.reason}",
                    hint=READ_AGAIN,
                )

    def _check(self) -> None:
        """Note how complete the watch is; raises WatchLostError if it may have missed a delete."""
        if self._lost is not None:
            raise self._lost
        try:
            self._ensure_open()
        except LastwordError as error:
            raise WatchLostError(str(error), hint=error.hint or "") from error
        topic_state = self._replicas.topic_state
        if topic_state.topic_id != self.start.topic_id:
            raise WatchLostError(
                f"{self._replicas.topic} was deleted and created again", hint=READ_AGAIN
            )
        ends = topic_state.ends
        if not topic_state.unanswered and all(
            offset >= ends[p] for p, offset in self._read_up_to.items()
        ):
            at_ms = max(self.origin.complete_at_ms, topic_state.at_ms)
            self.origin = replace(self.origin, complete_at_ms=at_ms)
        behind_ms = self._clock.now_ms() - self.origin.complete_at_ms
        if self.origin.complete_at_ms and live_lag_too_long(
            behind_ms, topic_state.delete_retention_ms
        ):
            raise WatchLostError(
                f"the watch is {behind_ms / 1000:.0f} s behind, and deletes leave the log after "
                f"{topic_state.delete_retention_ms / 1000:.0f} s",
                hint=READ_AGAIN,
            )
