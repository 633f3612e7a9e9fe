"""One subscription per watched table, for any number of watchers.

Nothing here waits for a watcher. Its changes are queued, and when the queues are too large, the
slowest watcher is cut off with an error.
"""

from __future__ import annotations

import asyncio

from lastword.clock import Clock
from lastword.errors import LastwordError, WatchLostError
from lastword.records import Position
from lastword.service.api.served import ServedTable
from lastword.service.http.pool import Pool
from lastword.service.watch.backlog import Backlog
from lastword.service.watch.change_events import Chunk
from lastword.service.watch.pump import Pump
from lastword.service.watch.watcher import Watcher

_POLL_S = 0.005
_CATCH_UP_S = 10.0


class Fanout:
    """The watchers of one table. Belongs to the event loop."""

    def __init__(self, served: ServedTable, pool: Pool, backlog: Backlog, clock: Clock) -> None:
        self._served = served
        self._pool = pool
        self._backlog = backlog
        self._clock = clock
        self._starting = asyncio.Lock()
        self._users = 0
        self._watchers: set[Watcher] = set()
        self._open = 0
        self._position = Position()
        self._pump: Pump | None = None
        self._ending: list[Pump] = []
        metrics = served.table.metrics
        metrics.gauge("watchers", lambda: self._open)
        self._latency = metrics.latency("watch")
        self._sent = metrics.counter("watch_changes_total")
        self._lost = metrics.counter("watchers_lost_total")

    def __len__(self) -> int:
        """Open connections: a watcher that was cut off counts until its connection is closed."""
        return self._open

    async def join(self, watcher: Watcher, at_least: Position) -> Position:
        """Pass everything after the returned position to ``watcher``, until it leaves.

        The table must have reached ``at_least``; the pump may be a moment behind the table.
        """
        self._users += 1
        try:
            pump = await self._started()
            deadline = self._clock.monotonic() + _CATCH_UP_S
            while not self._position.at_least(at_least):
                if pump is not self._pump or self._clock.monotonic() > deadline:
                    raise WatchLostError(
                        f"{self._served.name} is not at {at_least} any more",
                        hint="read the table, then watch from the position of that answer",
                    )
                await asyncio.sleep(_POLL_S)
        except BaseException:
            self._release()
            raise
        self._watchers.add(watcher)
        self._open += 1
        return self._position

    def leave(self, watcher: Watcher) -> None:
        """Pass nothing more to ``watcher``; the last one to leave ends the subscription."""
        self._watchers.remove(watcher)
        if watcher.lost is not None:
            self._lost.add()
        self._release()

    def closed(self) -> None:
        """The connection of a watcher that has left is closed."""
        self._open -= 1

    def break_off(self, reason: LastwordError) -> None:
        """Cut everybody off: the table was rebuilt, or the service stops."""
        self._stop_pump()
        for watcher in self._watchers:
            watcher.cut_off(reason)

    @property
    def position(self) -> Position:
        """The position of a watcher that has taken everything."""
        return self._position

    @property
    def at_rest(self) -> bool:
        """Whether there are no watchers and no thread of an earlier pump."""
        return not self._users and all(pump.ended for pump in self._ending)

    async def _started(self) -> Pump:
        async with self._starting:
            if self._pump is None:
                watch = await self._pool.run(self._served.raw.watch)
                self._position = watch.start
                self._pump = Pump(
                    self._served,
                    watch,
                    self._clock,
                    on_chunk=self._deliver,
                    on_end=self._ended,
                )
                self._pump.start()
            return self._pump

    def _release(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._stop_pump()

    def _stop_pump(self) -> None:
        if self._pump is not None:
            self._pump.stop()
            # Drop those that have ended: watchers come and go all day.
            self._ending = [pump for pump in self._ending if not pump.ended] + [self._pump]
            self._pump = None

    def _deliver(self, pump: Pump, chunk: Chunk) -> None:
        if pump is not self._pump:
            return
        self._position = chunk.position
        if not chunk.changes:
            return
        if chunk.timestamp_ms is not None:
            age_ms = self._clock.now_ms() - chunk.timestamp_ms
            self._latency.observe_ns(max(0, age_ms) * 1_000_000)
        self._sent.add(chunk.changes * len(self._watchers))
        for watcher in self._watchers:
            watcher.offer(chunk)
        self._backlog.trim()

    def _ended(self, pump: Pump, reason: WatchLostError) -> None:
        if pump is self._pump:
            self.break_off(reason)
