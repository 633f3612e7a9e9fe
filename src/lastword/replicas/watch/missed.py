"""The changes between the position a watcher has seen and the one where it joined."""

from __future__ import annotations

from collections.abc import Callable, Generator

from lastword.errors import NotReadyError
from lastword.kafka.log.source import QUEUE_BYTES, LogSource
from lastword.records import Batch, Position
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.watch.resume import refuse_what_is_gone, refuse_what_may_be_missing


class MissedChanges:
    """The changes since a position, which only the log has. Refused where one may be missing.

    Created before the watcher joins: raises WatchLostError unless every change since ``since`` is
    available, and PartitionNotHereError for a partition that is held elsewhere. An empty position
    is that of a watcher who starts now.
    """

    def __init__(self, replicas: ReplicaSet, log_source: LogSource, since: Position) -> None:
        self.since = since
        self._replicas = replicas
        self._log_source = log_source
        refuse_what_is_gone(since, replicas.topic_state, replicas.held)

    def check(self) -> None:
        """Raise WatchLostError if a sweep or time has made a delete since ``since`` unknown."""
        refuse_what_may_be_missing(self.since, self._replicas.held)

    def start(self, joined: Position) -> Position:
        """The start of the watch: the requested offsets, and for other partitions where it joined.

        Raises NotReadyError if it asked for a partition that has published nothing yet.
        """
        for partition in self.since.offsets:
            if partition not in joined.offsets:
                raise NotReadyError(
                    f"partition {partition} of {self._replicas.topic} was being restored when the "
                    "watch joined",
                    hint="watch again in a moment",
                )
        complete_at_ms = joined.complete_at_ms
        if self.since.offsets:
            complete_at_ms = min(complete_at_ms, self.since.complete_at_ms)
        return Position({**joined.offsets, **self.since.offsets}, joined.topic_id, complete_at_ms)

    def batches(
        self,
        joined: Position,
        *,
        stopping: Callable[[], bool] = lambda: False,
        queue_bytes: int = QUEUE_BYTES,
    ) -> Generator[Batch, None, None]:
        """What the log has between ``since`` and ``joined``; ends early once ``stopping``.

        Raises WatchLostError at the end if something may have left the log while it was read.
        """
        ranges = {p: (offset, joined.offsets[p]) for p, offset in self.since.offsets.items()}
        yield from self._log_source.read(
            self._replicas.topic, ranges, stopping=stopping, queue_bytes=queue_bytes
        )
        if not stopping():
            self.check()
