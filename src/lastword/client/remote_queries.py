"""The reads of a service's table that say how current they are, for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lastword.client.calls.answers import Answers, limits_of
from lastword.client.calls.reads import Reads
from lastword.client.calls.walking import walk
from lastword.client.remote_scan import RemoteScan
from lastword.client.steps import Steps
from lastword.durations import Duration
from lastword.table.entry import Answer, Entry


class RemoteQueries:
    """The reads of a ``RemoteTable``, each as an Answer. Safe to use from any thread.

    ``staleness_s`` includes the time that the answer travelled. The ``position`` of a single key is
    the one just after its record, and empty if there is no such key.
    """

    def __init__(self, reads: Reads, run: Callable[[Steps[Any]], Any]) -> None:
        self._answers, self._run = Answers(reads), run

    def within(
        self, *, max_stale: Duration | None = None, max_lag: int | None = None
    ) -> RemoteQueries:
        """The reads of a partitioned table with limits.

        A copy that is staler than ``max_stale``, or more than ``max_lag`` offsets behind, does not
        answer; if none answers in time, the read raises TooStaleError.
        """
        reads = self._answers.reads.within(limits_of(max_stale, max_lag))
        return RemoteQueries(reads, self._run)

    def get(self, key: Any) -> Answer[Entry | None]:
        """The key's entry, or None when there is no such key."""
        answer: Answer[Entry | None] = self._run(self._answers.entry(key))
        return answer

    def contains(self, key: Any) -> Answer[bool]:
        """Whether there is such a key."""
        answer = self.get(key)
        return answer.with_value(answer.value is not None)

    def get_many(self, keys: Iterable[Any]) -> Answer[dict[Any, Entry]]:
        """The entries of those keys that exist; up to 1000 keys are read as of one moment."""
        answer: Answer[dict[Any, Entry]] = self._run(self._answers.entries(keys))
        return answer

    def count(self) -> Answer[int]:
        """The number of keys."""
        answer: Answer[int] = self._run(self._answers.count())
        return answer

    def scan(
        self, start: Any = None, end: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> RemoteScan[Entry]:
        """Entries in key order: ``start <= key < end``, or those that begin with ``prefix``."""
        pages = walk(self._answers.reads, start, end, prefix=prefix, reverse=reverse)
        return RemoteScan(pages, self._run, pages.entries)
