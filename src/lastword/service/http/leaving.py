"""Ends costly work when the client that asked for it has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.types import Receive

from lastword.service.http.problems import RefusedError

R = TypeVar("R")

Stopping = Callable[[], bool]
"""Called from time to time by work on a thread; True once the client has left."""


async def while_connected(receive: Receive, work: Awaitable[R]) -> R:
    """What ``work`` returns; when the client leaves first, cancel it and raise ``client_left``."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(until_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise client_left()
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()


async def until_left(receive: Receive) -> None:
    """Wait until the client has gone; ignore what it still sends."""
    while (await receive())["type"] != "http.disconnect":
        pass


def client_left() -> RefusedError:
    """An answer that no client reads; it ends the work."""
    return RefusedError(400, "Disconnected", "the client left before the answer")
