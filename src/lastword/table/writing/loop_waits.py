"""Waits for a position without a thread: a hundred waiting coroutines cost only their time."""

from __future__ import annotations

import asyncio

from lastword.clock import Clock
from lastword.errors import NotUpToPositionError
from lastword.records import Position
from lastword.table.raw import RawTable

_FIRST_POLL_S = 0.001
_POLL_S_MAX = 0.02


async def until_reflected(raw: RawTable, wanted: Position, limit_s: float, clock: Clock) -> None:
    """Wait until the copy here reflects ``wanted``; NotUpToPositionError after the limit."""
    deadline = clock.monotonic() + limit_s
    pause_s = _FIRST_POLL_S
    while not raw.position(wanted.offsets).at_least(wanted):
        if clock.monotonic() >= deadline:
            raise NotUpToPositionError(
                f"the table of {raw.topic} is at {raw.position()}, not yet at {wanted}",
                hint="try again in a moment",
            )
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _POLL_S_MAX)
