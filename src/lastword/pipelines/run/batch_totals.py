"""Adds up the reports of a batch's tasks, and remembers the sizes of their stores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from lastword.pipelines.operators.events import Tally
from lastword.pipelines.run.observer import BatchReport
from lastword.pipelines.task.task_report import StoreSize, TaskReport


class BatchTotals:
    """The totals of one part, batch by batch, while it runs."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._sources = tuple(sorted(sources))
        self._sizes: dict[str, dict[int, StoreSize]] = {}

    def add_up(self, reports: Iterable[TaskReport], seconds: float) -> BatchReport:
        """Add up one batch. The size of a store covers all partitions processed so far."""
        tally, by_store = Tally(), defaultdict[str, Tally](Tally)
        for report in reports:
            tally.add(report.tally)
            for store, counted in report.by_store.items():
                by_store[store].add(counted)
            for store, size in report.stores.items():
                self._sizes.setdefault(store, {})[report.partition] = size
        stores = {name: sum(sizes.values(), StoreSize()) for name, sizes in self._sizes.items()}
        return BatchReport(self._sources, seconds, tally, stores=stores, by_store=by_store)
