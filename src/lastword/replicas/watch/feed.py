"""Passes every applied batch to the watchers, and ends one that cannot keep up."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass

from lastword.errors import WatchLostError
from lastword.records import Batch, Position

RECORDS_MAX = 100_000
BYTES_MAX = 64 << 20
"""How much may wait for one watcher before it is cut off. One batch of any size may always wait."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Keys a sweep removed: they were deleted, but their tombstones are gone from the log."""

    partition: int
    keys: list[bytes]


@dataclass(frozen=True, slots=True)
class PartitionGained:
    """From ``offset`` on, the changes of a partition that was not here follow."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class PartitionLost:
    """A partition left at ``offset``: nothing more of it follows."""

    partition: int
    offset: int


def partition_left(topic: str, lost: PartitionLost) -> WatchLostError:
    """The error that ends a watch: it must not skip changes silently."""
    return WatchLostError(
        f"partition {lost.partition} of {topic} is no longer held here",
        hint="watch again from the position reached, without that partition, or watch where it is",
    )


FeedItem = Batch | Dropped | PartitionGained | PartitionLost


@dataclass(slots=True)
class _Size:
    """What waits, in records and bytes; the bytes of a batch are there once for all watchers."""

    records: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, item: FeedItem) -> _Size:
        if isinstance(item, PartitionGained | PartitionLost):
            return cls(1, 0)
        if isinstance(item, Dropped):
            return cls(len(item.keys), sum(map(len, item.keys)))
        return cls(len(item), item.size_bytes)


class Subscription:
    """What one watcher has not taken yet. ``position`` is where it joined.

    ``complete_at_ms`` is that of the table's position before the item that was taken last.
    """

    def __init__(self, feed: Feed, position: Position) -> None:
        self.position = position
        self.complete_at_ms = position.complete_at_ms
        self._feed = feed
        self._items: queue.SimpleQueue[tuple[FeedItem, _Size, int] | WatchLostError] = (
            queue.SimpleQueue()
        )
        self._waiting = _Size()
        self._lock = threading.Lock()
        self._lost = False

    def offer(self, item: FeedItem, size: _Size, complete_at_ms: int) -> None:
        """Called by the feed; never blocks the tailing thread."""
        with self._lock:
            if self._lost:
                return
            records = self._waiting.records + size.records
            bytes_ = self._waiting.bytes + size.bytes
            fits = bytes_ <= BYTES_MAX or not self._waiting.records
            if fits and records <= RECORDS_MAX:
                self._waiting = _Size(records, bytes_)
                self._items.put((item, size, complete_at_ms))
                return
        limit = f"{RECORDS_MAX} changes" if records > RECORDS_MAX else f"{BYTES_MAX} bytes"
        self.cut_off(
            WatchLostError(
                f"this watcher is more than {limit} behind and was cut off",
                hint="read faster, or watch again from the position of the last change you saw",
            )
        )

    def cut_off(self, reason: WatchLostError) -> None:
        """End the queue; the watcher gets the reason after the queued items."""
        with self._lock:
            if not self._lost:
                self._lost = True
                self._items.put(reason)
        self._feed.leave(self)

    def take(self, timeout_s: float) -> FeedItem | None:
        """The next item, or None after ``timeout_s``; raises WatchLostError once cut off."""
        try:
            item = self._items.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(item, WatchLostError):
            self._items.put(item)
            raise item
        taken, size, self.complete_at_ms = item
        with self._lock:
            self._waiting.records -= size.records
            self._waiting.bytes -= size.bytes
        return taken

    def after_fork(self, reason: WatchLostError) -> None:
        """A forked child gets no changes; locks taken before may be held there forever."""
        self._lock, self._lost, self._items = threading.Lock(), True, queue.SimpleQueue()
        self._items.put(reason)

    def close(self) -> None:
        """Stop listening; idempotent."""
        self._feed.leave(self)


class Feed:
    """The list of subscriptions. Joining and publishing exclude each other, so none is missed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()

    def join(self, subscription: Subscription) -> None:
        """Hand everything published from now on to ``subscription``."""
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)

    def leave(self, subscription: Subscription) -> None:
        """Stop; idempotent."""
        with self._lock:
            self._subscriptions = tuple(s for s in self._subscriptions if s is not subscription)

    def publish(self, item: FeedItem, complete_at_ms: int = 0) -> None:
        """Called by the tailing thread after ``item`` was applied.

        ``complete_at_ms`` is that of the table's position, which no item changes.
        """
        if self._subscriptions:
            size = _Size.of(item)
            for subscription in self._subscriptions:
                subscription.offer(item, size, complete_at_ms)

    def break_off(self, reason: str, hint: str) -> None:
        """Cut everybody off, as when the topic was replaced under them or the table closes."""
        for subscription in self._subscriptions:
            subscription.cut_off(WatchLostError(reason, hint=hint))

    def after_fork(self, reason: WatchLostError) -> None:
        """End every watch in a forked child, where no changes arrive."""
        self._lock = threading.Lock()
        for subscription in self._subscriptions:
            subscription.after_fork(reason)

    def __len__(self) -> int:
        return len(self._subscriptions)
