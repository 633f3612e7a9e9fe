"""Every change of a table from now on, or from a position, deletes included."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from types import TracebackType

from lastword.errors import WatchLostError
from lastword.follow.feed import Dropped, Subscription
from lastword.follow.judge import Judge
from lastword.follow.tailer import Tailer
from lastword.kafka.connection import Connection
from lastword.kafka.log_reader import read_range
from lastword.records import Batch, Position, Record
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
        tailer: Tailer,
        connection: Connection,
        decoder: Decoder,
        judge: Judge,
        start: Position | None,
    ) -> None:
        self._tailer = tailer
        self._decoder = decoder
        self._judge = judge
        self._ready: deque[Record | bytes] = deque()  # bytes: a swept key
        asked = {} if start is None else dict(start.offsets)
        self._refuse_what_is_gone(asked)
        with tailer.lock:
            joined = tailer.position()
            self._subscription = Subscription(tailer.feed, joined)
            tailer.feed.join(self._subscription)
        self._offsets = dict(joined.offsets) | asked
        # Between the start and the moment of joining lies what only the log has; read when taken.
        missed = {p: (offset, joined.offsets[p]) for p, offset in asked.items()}
        self._closed = threading.Event()
        self._reading = threading.Lock()
        self._missed = read_range(connection, tailer.topic, missed, stopping=self._closed.is_set)

    @property
    def position(self) -> Position:
        """Just after the last change that was taken."""
        return Position(dict(self._offsets))

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
            batch: Batch | Dropped | None = next(self._missed, None)
        if batch is None:
            batch = self._subscription.take(timeout_s)
        if batch is None:
            return False
        if isinstance(batch, Dropped):
            self._ready.extend(batch.keys)
        else:
            self._ready.extend(self._judge.records_of_table(batch))
        return True

    def _taken(self, item: Record | bytes) -> Change | None:
        if isinstance(item, bytes):
            return self._decoder.swept(item)
        if item.offset < self._offsets[item.partition]:
            return None
        self._offsets[item.partition] = item.offset + 1
        return self._decoder.change(item)

    def _refuse_what_is_gone(self, asked: dict[int, int]) -> None:
        starts = self._tailer.facts.starts
        for partition, offset in asked.items():
            if partition not in self._tailer.followers:
                raise WatchLostError(
                    f"there is no partition {partition} to watch",
                    hint="a position names partitions of this table's topic",
                )
            if offset < starts[partition]:
                raise WatchLostError(
                    f"partition {partition} starts at {starts[partition]} now, after {offset}",
                    hint="read the table, then watch from the position of that answer",
                )
