"""Threads for what blocks, with a limit on how many calls may wait for one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from lastword.service.http.problems import RefusedError

P = ParamSpec("P")
R = TypeVar("R")


class Pool:
    """Runs blocking calls for the event loop; more than ``waiting`` at once are refused."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"service-{name}")
        self._calls_max = threads + waiting
        self._counting = threading.Lock()
        self.calls = 0

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``function`` returns; RefusedError when too many are waiting already.

        Cancelling removes a waiting call from the queue. A running call keeps its thread, and
        counts, until it ends.
        """
        if self.calls >= self._calls_max:
            raise RefusedError(
                503,
                "Busy",
                f"{self.calls} calls of this kind are in progress already",
                hint="try again in a moment",
            )
        self._count(1)
        future = self._threads.submit(function, *args, **kwargs)
        future.add_done_callback(self._ended)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Accept no more calls; running ones end by their own limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, _call: Future[Any]) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        with self._counting:  # calls end on their threads
            self.calls += change
