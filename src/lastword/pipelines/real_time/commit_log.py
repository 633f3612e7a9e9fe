"""Adds up the commits of a long task until it reports them."""

from __future__ import annotations

from lastword.pipelines.operators.events import Tally
from lastword.pipelines.run.observer import LEVELS
from lastword.pipelines.task.partition_run import PartitionRun
from lastword.pipelines.task.task_report import TaskReport


class UnreportedCommits:
    """The commits since the last report, by partition."""

    def __init__(self) -> None:
        self._reports: dict[int, TaskReport] = {}

    def add(self, partition: int, run: PartitionRun) -> None:
        """Count one commit."""
        known = self._reports.get(partition, TaskReport(partition, Tally()))
        by_store = dict(known.by_store)
        for store, tally in run.by_store.items():
            by_store[store] = _sum(by_store.get(store, Tally()), tally)
        tally, stores = _sum(known.tally, run.tally), {**known.stores, **run.stores}
        self._reports[partition] = TaskReport(partition, tally, stores, by_store)

    def take(self) -> list[TaskReport]:
        """Return the reports and start counting again."""
        reports = list(self._reports.values())
        self._reports = {}
        return reports


def _sum(before: Tally, new: Tally) -> Tally:
    """Add the counts; of gauges, the last value is kept."""
    total = Tally()
    total.add(before)
    total.add(new)
    for level in LEVELS:
        setattr(total, level, getattr(new, level))
    return total
