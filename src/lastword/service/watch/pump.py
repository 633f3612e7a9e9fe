"""The thread that encodes a table's changes and passes them to the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from lastword.clock import Clock
from lastword.errors import WatchLostError
from lastword.records import Position
from lastword.replicas.watch.feed import FeedItem
from lastword.service.api.served import ServedTable
from lastword.service.watch.change_events import Chunk, EventEncoder
from lastword.table.raw_watch import ChangeSource

_IDLE_S = 0.25
# Many small batches become one chunk: a thousand batches a second for a hundred watchers would
# be a hundred thousand sends.
_GATHER_S = 0.02
_GATHERED_BATCHES_MAX = 200
# Chunks that the event loop has not seen yet; a busy loop blocks the thread.
_HANDED_OVER_MAX = 16


class Pump:
    """One watch of one table. ``on_chunk`` and ``on_end`` are called on the event loop."""

    def __init__(
        self,
        served: ServedTable,
        watch: ChangeSource,
        clock: Clock,
        *,
        on_chunk: Callable[[Pump, Chunk], None],
        on_end: Callable[[Pump, WatchLostError], None],
    ) -> None:
        self._watch = watch
        self._clock = clock
        self._on_chunk = on_chunk
        self._on_end = on_end
        self._encoder = EventEncoder(served, watch.start)
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._slots = threading.Semaphore(_HANDED_OVER_MAX)
        self._thread = threading.Thread(target=self._run, name=f"watch-{served.name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; the thread ends shortly after."""
        self._stopping.set()
        self._watch.cut_off(WatchLostError("no watcher is left"))

    @property
    def ended(self) -> bool:
        """Whether the thread has ended; until then it may still call."""
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                item = self._watch.take(_IDLE_S)
                if isinstance(item, Position):
                    self._hand_over(self._encoder.advance(item))
                    continue
                complete_at_ms = self._watch.origin.complete_at_ms
                for chunk in self._encoder.chunks(self._gathered(item), complete_at_ms):
                    self._hand_over(chunk)
        except WatchLostError as error:
            if not self._stopping.is_set():
                self._loop.call_soon_threadsafe(self._on_end, self, error)

    def _hand_over(self, chunk: Chunk) -> None:
        while not self._slots.acquire(timeout=_IDLE_S):
            if self._stopping.is_set():
                return
        self._loop.call_soon_threadsafe(self._arrive, chunk)

    def _arrive(self, chunk: Chunk) -> None:
        self._slots.release()
        self._on_chunk(self, chunk)

    def _gathered(self, first: FeedItem) -> list[FeedItem]:
        """``first`` and the batches that follow it shortly after."""
        items = [first]
        deadline = self._clock.monotonic() + _GATHER_S
        while len(items) < _GATHERED_BATCHES_MAX:
            left_s = deadline - self._clock.monotonic()
            item = self._watch.take_live(left_s) if left_s > 0 else None
            if item is None:
                break
            items.append(item)
        return items
