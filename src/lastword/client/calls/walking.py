"""Walks through the keys of a table page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lastword.client.calls.answers import Origin, origin_of
from lastword.client.calls.reads import Bounds, Reads
from lastword.client.forms import Item
from lastword.client.steps import Steps
from lastword.codecs.base import key_bounds
from lastword.records import Position
from lastword.table.entry import Entry

Pair = tuple[Any, Any]


class PageWalk:
    """The pages of a range, one after the other. Each is as of one moment, the next as of a later.

    With ``as_of`` all of them are of one past state. ``position``, ``stale``, ``contact_age_s`` and
    ``origin`` are those of the last page.
    """

    def __init__(
        self, reads: Reads, bounds: Bounds, *, reverse: bool = False, as_of: str | None = None
    ) -> None:
        self.position = Position()
        self.stale = False
        self.contact_age_s = 0.0
        self.origin = Origin()
        self._reads = reads
        self._bounds = bounds
        self._reverse = reverse
        self._as_of = as_of
        self._cursor: str | None = None
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the last page was taken."""
        return self._ended

    def more(self) -> Steps[list[Item]]:
        """The items of the next page; a page before the last may be empty."""
        now = self._reads.patience.clock.monotonic
        asked_at = now()
        page, response = yield from self._reads.page(
            self._bounds, reverse=self._reverse, cursor=self._cursor, as_of=self._as_of
        )
        self.origin = origin_of(response, now() - asked_at)
        self.position = Position.parse(page.position)
        self.stale, self.contact_age_s = page.stale, page.contact_age_seconds
        self._cursor = page.next
        self._ended = page.next is None
        return page.items

    def pairs(self, items: list[Item]) -> Iterator[Pair]:
        """The keys and values of items, decoded one by one."""
        entry = self._reads.forms.entry
        return ((each.key, each.value) for each in map(entry, items))

    def entries(self, items: list[Item]) -> Iterator[Entry]:
        """The entries of items, decoded one by one."""
        return map(self._reads.forms.entry, items)


def walk(
    reads: Reads,
    start: Any = None,
    end: Any = None,
    *,
    prefix: Any = None,
    reverse: bool = False,
    as_of: str | None = None,
) -> PageWalk:
    """The walk over ``start <= key < end``, or over the keys that begin with ``prefix``."""
    bounds = key_bounds(reads.forms.key, start, end, prefix)
    return PageWalk(reads, bounds, reverse=reverse, as_of=as_of)
