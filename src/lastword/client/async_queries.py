"""The reads of a service's table that say how current they are, for coroutines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from lastword.client.async_scan import AsyncScan
from lastword.client.calls.answers import Answers, limits_of
from lastword.client.calls.reads import Reads
from lastword.client.calls.walking import walk
from lastword.client.steps import Steps
from lastword.durations import Duration
from lastword.table.entry import Answer, Entry


class AsyncQueries:
    """The calls of ``RemoteQueries`` as coroutines; ``scan`` is read with ``async for``."""

    def __init__(self, reads: Reads, run: Callable[[Steps[Any]], Awaitable[Any]]) -> None:
        self._answers, self._run = Answers(reads), run

    def within(
        self, *, max_stale: Duration | None = None, max_lag: int | None = None
    ) -> AsyncQueries:
        """The reads of a partitioned table with limits; raises TooStaleError where none fits."""
        reads = self._answers.reads.within(limits_of(max_stale, max_lag))
        return AsyncQueries(reads, self._run)

    async def get(self, key: Any) -> Answer[Entry | None]:
        """The key's entry, or None when there is no such key."""
        answer: Answer[Entry | None] = await self._run(self._answers.entry(key))
        return answer

    async def contains(self, key: Any) -> Answer[bool]:
        """Whether there is such a key."""
        answer = await self.get(key)
        return answer.with_value(answer.value is not None)

    async def get_many(self, keys: Iterable[Any]) -> Answer[dict[Any, Entry]]:
        """The entries of those keys that exist; up to 1000 keys are read as of one moment."""
        answer: Answer[dict[Any, Entry]] = await self._run(self._answers.entries(keys))
        return answer

    async def count(self) -> Answer[int]:
        """The number of keys."""
        answer: Answer[int] = await self._run(self._answers.count())
        return answer

    def scan(
        self, start: Any = None, end: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> AsyncScan[Entry]:
        """Entries in key order: ``start <= key < end``, or those that begin with ``prefix``."""
        pages = walk(self._answers.reads, start, end, prefix=prefix, reverse=reverse)
        return AsyncScan(pages, self._run, pages.entries)
