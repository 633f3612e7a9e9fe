"""A scan for threads: pages are read as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, TypeVar

from lastword.client.calls.walking import PageWalk
from lastword.client.forms import Item
from lastword.client.steps import Steps
from lastword.records import Position

T = TypeVar("T")

Run = Callable[[Steps[list[Item]]], list[Item]]
Decode = Callable[[list[Item]], Iterator[T]]


class RemoteScan(Generic[T]):
    """Iterates in key order. The first page is there when it is made.

    A page is as of one moment, and ``position``, ``stale`` and ``contact_age_s`` describe it; the
    next page may reflect later writes. A scan of the past is as of one moment as a whole.
    """

    def __init__(self, walk: PageWalk, run: Run, decode: Decode[T]) -> None:
        self._walk = walk
        self._run = run
        self._decode = decode
        self._closed = False
        self._page = decode(run(walk.more()))

    @property
    def position(self) -> Position:
        """The position of the current page."""
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

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while not self._closed:
            for each in self._page:
                return each
            if self._walk.ended:
                self._closed = True
            else:
                self._page = self._decode(self._run(self._walk.more()))
        raise StopIteration

    def __enter__(self) -> RemoteScan[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration; idempotent."""
        self._closed = True
