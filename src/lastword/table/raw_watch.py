"""A watch in bytes: the changes in the log since a position, then the batches as applied."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Protocol

from lastword.errors import LastwordError, WatchLostError
from lastword.records import Batch, Position
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.watch.feed import FeedItem
from lastword.replicas.watch.missed import MissedChanges


class ChangeSource(Protocol):
    """What a watch takes its batches from, as RawWatch documents it."""

    start: Position
    origin: Position

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""

    def take(self, timeout_s: float) -> FeedItem | Position:
        """What comes next, or where the watch is; raises WatchLostError."""

    def take_live(self, timeout_s: float) -> FeedItem | None:
        """What comes next, if anything does in time; raises WatchLostError."""

    def cut_off(self, reason: WatchLostError) -> None:
        """End the watch with this error."""

    def close(self) -> None:
        """Stop watching; idempotent."""


class RawWatch:
    """What is applied and published, in order, until it is closed or cut off.

    Items are batches of records, keys that a sweep dropped, and partitions gained and lost.

    ``start`` is where it begins. ``origin`` is the position of the table before the item taken
    last; the caller knows how far it got within the item. One thread takes; any may close.
    """

    def __init__(self, replicas: ReplicaSet, missed: MissedChanges) -> None:
        self._replicas = replicas
        self._closed = threading.Event()
        self._reading = threading.Lock()
        self._subscription = replicas.subscribe()
        self._joined = self._subscription.position
        try:
            self.start = self.origin = missed.start(self._joined)
        except LastwordError:
            self._subscription.close()
            raise
        # The changes between the start and the moment of joining are only in the log; read lazily.
        self._missed = missed.batches(self._joined, stopping=self._closed.is_set)
        self._replaying = True

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed.is_set()

    def take(self, timeout_s: float) -> FeedItem | Position:
        """The next item; if there is none within ``timeout_s``, the position of the watch.

        That may be beyond the last record, for transaction markers take offsets too. Raises
        WatchLostError once cut off.
        """
        if self._replaying:
            batch = self._next_missed()
            if batch is not None:
                return batch
            if self.closed:
                return self.origin
            self._replaying = False
            self.origin = self._joined
        return self._live(timeout_s)

    def take_live(self, timeout_s: float) -> FeedItem | None:
        """The next item that was applied since the watch joined, if there is one in time."""
        item = self._subscription.take(timeout_s)
        if item is not None:
            self.origin = replace(self.origin, complete_at_ms=self._subscription.complete_at_ms)
        return item

    def cut_off(self, reason: WatchLostError) -> None:
        """End the queue; the reader gets the reason after the queued batches."""
        self._subscription.cut_off(reason)

    def close(self) -> None:
        """Stop watching; idempotent."""
        self._closed.set()
        self._subscription.close()
        with self._reading:
            self._missed.close()

    def _next_missed(self) -> Batch | None:
        try:
            with self._reading:
                return next(self._missed, None)
        except LastwordError:
            self.close()  # unread changes would be skipped silently
            raise

    def _live(self, timeout_s: float) -> FeedItem | Position:
        item = self.take_live(timeout_s)
        if item is None:
            # The locks stop publishing: everything published so far is in the queue.
            with self._replicas.one_moment() as held:
                item = self.take_live(0)
                if item is None:
                    ready = [p for p, replica in held.items() if replica.ready]
                    self.origin = self._replicas.position(ready)
                    return self.origin
        return item
