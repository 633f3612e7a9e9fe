"""Past states of tables, for ``?as_of=``: costly to build, so one at a time, and cached."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from starlette.types import Receive

from lastword.clock import Clock
from lastword.service.api.served import ServedTable
from lastword.service.http.leaving import client_left, while_connected
from lastword.service.http.limits import Limits
from lastword.service.http.pool import Pool
from lastword.service.http.problems import RefusedError
from lastword.snapshots.travel.moments import parse_moment
from lastword.table.past_table import PastTable

_KEPT_MAX = 8
_HINT = "read it without these limits: lastword get --as-of, or Table.as_of"

_Name = tuple[str, str]


@dataclass
class _Making:
    """A state that is being read, or queued; it is cancelled when no caller waits for it."""

    task: asyncio.Task[PastTable]
    stopped: threading.Event
    waiting: int = 0


@dataclass
class PastStates:
    """The states that were asked for last, all together within the limit of bytes.

    Belongs to the event loop. ``pool`` has one thread, so one state is built at a time; callers
    that ask for the same state share it.
    """

    limits: Limits
    pool: Pool
    clock: Clock
    _kept: OrderedDict[_Name, PastTable] = field(default_factory=OrderedDict)
    _making: dict[_Name, _Making] = field(default_factory=dict)

    async def at(self, served: ServedTable, as_of: str, receive: Receive) -> PastTable:
        """The state, read from snapshots, history and the log unless it is here already."""
        name = (served.name, as_of)
        if name in self._kept:
            self._kept.move_to_end(name)
            return self._kept[name]
        making = self._making.get(name) or self._begin(name, served)
        making.waiting += 1
        try:
            async with asyncio.timeout(self.limits.as_of_s):
                return await while_connected(receive, asyncio.shield(making.task))
        except TimeoutError:
            raise self._too_slow() from None
        finally:
            making.waiting -= 1
            if not making.waiting:
                self._end(name, making)

    def _begin(self, name: _Name, served: ServedTable) -> _Making:
        stopped = threading.Event()
        making = _Making(asyncio.create_task(self._make(name, served, stopped)), stopped)
        self._making[name] = making
        return making

    def _end(self, name: _Name, making: _Making) -> None:
        making.stopped.set()
        making.task.cancel()
        if self._making.get(name) is making:
            del self._making[name]

    async def _make(self, name: _Name, served: ServedTable, stopped: threading.Event) -> PastTable:
        state = await self.pool.run(self._read, served, name[1], stopped)
        self._kept[name] = state
        size = sum(each.size_bytes for each in self._kept.values())
        while len(self._kept) > _KEPT_MAX or size > self.limits.as_of_bytes:
            _, oldest = self._kept.popitem(last=False)
            size -= oldest.size_bytes
        return state

    # -- on the thread ---------------------------------------------------------------------------

    def _read(self, served: ServedTable, as_of: str, stopped: threading.Event) -> PastTable:
        deadline = self.clock.monotonic() + self.limits.as_of_s

        def check(size_bytes: int) -> None:
            if stopped.is_set():
                raise client_left()
            if size_bytes > self.limits.as_of_bytes:
                raise RefusedError(
                    507,
                    "PastStateTooLarge",
                    f"it has more than {self.limits.as_of_bytes >> 20} MiB",
                    hint=_HINT,
                )
            if self.clock.monotonic() > deadline:
                raise self._too_slow()

        return served.table.as_of(parse_moment(as_of), progress=check)

    def _too_slow(self) -> RefusedError:
        took = f"it takes more than {self.limits.as_of_s:g} s"
        return RefusedError(503, "PastStateTooSlow", took, hint=_HINT)
