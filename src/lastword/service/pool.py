"""Threads for what blocks, with a limit on how many calls may wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from lastword.service.problems import RefusedError

P = ParamSpec("P")
R = TypeVar("R")


class Pool:
    """Runs blocking calls for the event loop; more than ``waiting`` at once are told to wait."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"service-{name}")
        self._calls_max = threads + waiting
        self.calls = 0

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``function`` returns; RefusedError when too many are waiting already."""
        if self.calls >= self._calls_max:
            raise RefusedError(
                503,
                "Busy",
                f"{self.calls} calls of this kind are being worked on already",
                hint="try again in a moment",
            )
        self.calls += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))
        finally:
            self.calls -= 1

    def close(self) -> None:
        """Take no more calls; those under way end by their own limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)
