"""Limits the memory of slow watchers, for all tables together."""

from __future__ import annotations

from lastword.errors import WatchLostError
from lastword.service.watch.change_events import Chunk
from lastword.service.watch.watcher import Watcher


class Backlog:
    """What waits for watchers to be sent. Belongs to the event loop.

    A chunk counts once, for any number of watchers. Data that is being sent is not counted: it is
    at most one chunk per watcher, and what the server buffers of it.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._watchers: set[Watcher] = set()
        self.bytes = 0

    def watcher(self) -> Watcher:
        """A new watcher; it leaves with ``Watcher.leave``."""
        watcher = Watcher(self._hold, self._let_go)
        self._watchers.add(watcher)
        return watcher

    def remove(self, watcher: Watcher) -> None:
        """Remove the watcher; nothing is queued for it from now on."""
        watcher.leave()
        self._watchers.discard(watcher)

    def trim(self) -> None:
        """Cut off the watchers furthest behind until the rest fits."""
        while self.bytes > self._bytes_max:
            slowest = max(self._watchers, key=lambda each: each.behind_bytes)
            slowest.cut_off(
                WatchLostError(
                    f"this watcher is {slowest.behind_bytes} bytes behind, more than any other, "
                    f"and no more than {self._bytes_max} bytes may wait",
                    hint="read faster; resume with the id of the last event as Last-Event-ID",
                )
            )

    def _hold(self, chunk: Chunk) -> None:
        if not chunk.holders:
            self.bytes += len(chunk.data)
        chunk.holders += 1

    def _let_go(self, chunk: Chunk) -> None:
        chunk.holders -= 1
        if not chunk.holders:
            self.bytes -= len(chunk.data)
