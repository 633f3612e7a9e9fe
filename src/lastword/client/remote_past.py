"""A table of a service as it was at a past moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lastword.client.calls.reads import Reads, moment_text
from lastword.client.calls.walking import Pair, walk
from lastword.client.remote_scan import RemoteScan
from lastword.client.steps import Steps
from lastword.records import Position
from lastword.snapshots.travel.moments import Moment
from lastword.table.entry import Entry

_ABSENT = object()


class RemotePast:
    """Reads of one past moment, as ``as_of`` gives them. Safe to use from any thread.

    The service caches the last states; a state that it has dropped is read again.
    """

    def __init__(self, reads: Reads, run: Callable[[Steps[Any]], Any], moment: Moment) -> None:
        self._reads = reads
        self._run = run
        first = walk(reads, as_of=moment_text(moment))
        run(first.more())
        self.position: Position = first.position

    def entry(self, key: Any) -> Entry | None:
        """The value with its version and timestamp, or None."""
        entry: Entry | None = self._run(self._reads.entry(key, self.position))
        return entry

    def get(self, key: Any, default: Any = None) -> Any:
        """The value that ``key`` had, or ``default``."""
        entry = self.entry(key)
        return default if entry is None else entry.value

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key, _ABSENT)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        return self.entry(key) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def items(self) -> RemoteScan[Pair]:
        """Every key and value in key order."""
        pages = walk(self._reads, as_of=str(self.position))
        return RemoteScan(pages, self._run, pages.pairs)

    def scan(
        self, start: Any = None, end: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> RemoteScan[Entry]:
        """Entries in key order: ``start <= key < end``, or those that begin with ``prefix``."""
        pages = walk(
            self._reads, start, end, prefix=prefix, reverse=reverse, as_of=str(self.position)
        )
        return RemoteScan(pages, self._run, pages.entries)
