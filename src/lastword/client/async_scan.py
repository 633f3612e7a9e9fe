"""A scan for coroutines: pages are read as they are needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from lastword.client.calls.walking import PageWalk
from lastword.client.forms import Item
from lastword.client.steps import Steps
from lastword.records import Position

T = TypeVar("T")


class AsyncScan(Generic[T]):
    """Iterates in key order, with ``async for``; the first page is read at the first step.

    A page is as of one moment; the next one may reflect later writes.
    """

    def __init__(
        self,
        walk: PageWalk,
        run: Callable[[Steps[list[Item]]], Awaitable[list[Item]]],
        decode: Callable[[list[Item]], Iterator[T]],
    ) -> None:
        self._walk = walk
        self._run = run
        self._decode = decode
        self._page: Iterator[T] = iter(())

    @property
    def position(self) -> Position:
        """The position of the current page; empty before the first."""
        return self._walk.position

    @property
    def stale(self) -> bool:
        """Whether the table was behind its topic, or might have been."""
        return self._walk.stale

    @property
    def contact_age_s(self) -> float:
        """How long before the answer the cluster had last answered the service."""
        return self._walk.contact_age_s

    @property
    def staleness_s(self) -> float | None:
        """How stale the current page of a partitioned table is, as in an Answer."""
        return self._walk.origin.staleness_s

    @property
    def answered_by(self) -> tuple[str, ...]:
        """The instances that answered the current page of a partitioned table."""
        return self._walk.origin.answered_by

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while True:
            for each in self._page:
                return each
            if self._walk.ended:
                raise StopAsyncIteration
            self._page = self._decode(await self._run(self._walk.more()))
