"""Every change of a table from now on, or from a position, deletes included."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from types import TracebackType

from lastword.kafka.connection import Connection
from lastword.kafka.log.reader import read_range
from lastword.records import Batch, Position, Record
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.watch.feed import (
    Dropped,
    FeedItem,
    PartitionGained,
    PartitionLost,
    partition_left,
)
from lastword.replicas.watch.resume import refuse_what_is_gone, refuse_what_may_be_missing
from lastword.table.decoder import Decoder
from lastword.table.entry import Change

WAIT_S = 0.5


class Watch:
    """An iterator of changes that ends only when closed and never skips one silently.

    ``position`` is where to start again to see what comes after the last change taken. A
    watcher that falls too far behind gets WatchLostError and can resume from there. One thread
    takes changes; any thread may close.
    """

    def __init__(
        self,
        replicas: ReplicaSet,
        connection: Connection,
        decoder: Decoder,
        record_filter: RecordFilter,
        start: Position | None,
    ) -> None:
        self._replicas = replicas
        self._decoder = decoder
        self._filter = record_filter
        self._ready: deque[Record | bytes] = deque()  # bytes: a swept key
        asked = {} if start is None else dict(start.offsets)
        self._start = start or Position()
        refuse_what_is_gone(self._start, replicas.topic_state, replicas.held)
        self._subscription = replicas.subscribe()
        joined = self._subscription.position
        self._offsets = dict(joined.offsets) | asked
        self._joined = joined
        self._complete_at_ms = joined.complete_at_ms
        if asked:
            self._complete_at_ms = min(joined.complete_at_ms, self._start.complete_at_ms)
        self._replaying = bool(asked)
        # Between the start and the moment of joining lies what only the log has; read when taken.
        missed = {p: (offset, joined.offsets[p]) for p, offset in asked.items()}
        self._closed = threading.Event()
        self._reading = threading.Lock()
        self._missed = read_range(connection, replicas.topic, missed, stopping=self._closed.is_set)

    @property
    def position(self) -> Position:
        """Just after the last change that was taken."""
        return Position(dict(self._offsets), self._joined.topic_id, self._complete_at_ms)

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        while not self._closed.is_set():
            change = self.take(WAIT_S)
            if change is not None:
                return change
        raise StopIteration

    def take(self, timeout_s: float) -> Change | None:
        """The next change, or None when there is none within ``timeout_s``."""
        while not self._closed.is_set():
            while self._ready:
                change = self._taken(self._ready.popleft())
                if change is not None:
                    return change
            if not self._refill(timeout_s):
                break
        return None

    def close(self) -> None:
        """Stop watching, which ends the iteration; idempotent."""
        self._closed.set()
        self._subscription.close()
        with self._reading:
            self._missed.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _refill(self, timeout_s: float) -> bool:
        """Fetch the next batch: first what was missed, from the log, then what comes in."""
        with self._reading:
            item: FeedItem | None = next(self._missed, None)
        if item is None:
            self._end_replay()
            item = self._live(timeout_s)
        if item is None:
            return False
        if isinstance(item, Batch):
            self._ready.extend(self._filter.records_of_table(item))
        elif isinstance(item, Dropped):
            self._ready.extend(item.keys)
        else:
            self._follow_the_set(item)
        return True

    def _follow_the_set(self, item: PartitionGained | PartitionLost) -> None:
        if isinstance(item, PartitionGained):
            self._offsets[item.partition] = item.offset
            return
        del self._offsets[item.partition]
        self._subscription.close()
        raise partition_left(self._replicas.topic, item)

    def _end_replay(self) -> None:
        """Everything before the moment of joining is taken: was all of it still in the log?"""
        if self._replaying and not self._closed.is_set():
            self._replaying = False
            refuse_what_may_be_missing(self._start, self._replicas.held)
            self._complete_at_ms = self._joined.complete_at_ms

    def _live(self, timeout_s: float) -> FeedItem | None:
        """What the table has published and was not taken yet."""
        item = self._subscription.take(timeout_s)
        if item is not None:
            self._complete_at_ms = self._subscription.complete_at_ms
            return item
        # With the lock nothing is being published: what is not waiting does not exist.
        with self._replicas.one_moment():
            item = self._subscription.take(0)
            if item is None:
                self._complete_at_ms = self._replicas.position().complete_at_ms
        return item

    def _taken(self, item: Record | bytes) -> Change | None:
        if isinstance(item, bytes):
            return self._decoder.swept(item)
        if item.offset < self._offsets[item.partition]:
            return None
        self._offsets[item.partition] = item.offset + 1
        return self._decoder.change(item)
