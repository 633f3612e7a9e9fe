"""Every change of a table from now on, or from a position, deletes included."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

from lastword.records import Batch, Position, Record
from lastword.replicas.watch.feed import (
    Dropped,
    PartitionGained,
    PartitionLost,
    partition_left,
)
from lastword.table.decoder import Decoder
from lastword.table.entry import Change
from lastword.table.raw_watch import ChangeSource

WAIT_S = 0.5


class Watch:
    """An iterator of changes that ends only when closed and never skips one silently.

    ``position`` is where another watch continues after the last change taken. A
    watcher that falls too far behind gets WatchLostError and can resume from there. One thread
    takes changes; any thread may close.
    """

    def __init__(
        self,
        topic: str,
        raw: ChangeSource,
        decoder: Decoder,
        records_of_table: Callable[[Batch], Iterator[Record]],
    ) -> None:
        self._topic = topic
        self._raw = raw
        self._decoder = decoder
        self._records_of_table = records_of_table
        self._ready: deque[Record | bytes] = deque()  # bytes: a swept key
        self._offsets = dict(raw.start.offsets)

    @property
    def position(self) -> Position:
        """Just after the last change that was taken."""
        origin = self._raw.origin
        return Position(dict(self._offsets), origin.topic_id, origin.complete_at_ms)

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        while not self._raw.closed:
            change = self.take(WAIT_S)
            if change is not None:
                return change
        raise StopIteration

    def take(self, timeout_s: float) -> Change | None:
        """The next change, or None when there is none within ``timeout_s``."""
        while not self._raw.closed:
            while self._ready:
                change = self._taken(self._ready.popleft())
                if change is not None:
                    return change
            item = self._raw.take(timeout_s)
            if isinstance(item, Position):
                break
            if isinstance(item, Batch):
                self._ready.extend(self._records_of_table(item))
            elif isinstance(item, Dropped):
                self._ready.extend(item.keys)
            else:
                self._follow_the_set(item)
        return None

    def close(self) -> None:
        """Stop watching, which ends the iteration; idempotent."""
        self._raw.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _follow_the_set(self, item: PartitionGained | PartitionLost) -> None:
        if isinstance(item, PartitionGained):
            self._offsets[item.partition] = item.offset
            return
        del self._offsets[item.partition]
        self.close()
        raise partition_left(self._topic, item)

    def _taken(self, item: Record | bytes) -> Change | None:
        if isinstance(item, bytes):
            return self._decoder.swept(item)
        if item.offset < self._offsets[item.partition]:
            return None
        self._offsets[item.partition] = item.offset + 1
        return self._decoder.change(item)
