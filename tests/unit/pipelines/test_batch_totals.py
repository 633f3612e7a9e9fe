"""What a batch came to, added up from the reports of its tasks."""

from __future__ import annotations

from lastword.pipelines.operators.events import Tally
from lastword.pipelines.run.batch_totals import BatchTotals
from lastword.pipelines.task.task_report import StoreSize, TaskReport


def test_counts_are_added_up_over_tasks_and_by_store() -> None:
    reports = [
        TaskReport(0, Tally(records=2, late=1), by_store={"n": Tally(late=1)}),
        TaskReport(1, Tally(records=3, late=2), by_store={"n": Tally(late=1), "m": Tally(late=1)}),
    ]
    report = BatchTotals(["b", "a"]).add_up(reports, 0.5)
    assert (report.sources, report.seconds) == (("a", "b"), 0.5)
    assert report.tally == Tally(records=5, late=3)
    assert report.by_store == {"n": Tally(late=2), "m": Tally(late=1)}


def test_a_store_is_as_large_as_all_its_partitions_that_were_touched_so_far() -> None:
    totals = BatchTotals(["a"])
    first = [TaskReport(p, Tally(), {"n": StoreSize(p + 1, 100)}) for p in (0, 1)]
    assert totals.add_up(first, 1.0).stores == {"n": StoreSize(3, 200)}
    again = [TaskReport(1, Tally(), {"n": StoreSize(5, 50)})]
    assert totals.add_up(again, 1.0).stores == {"n": StoreSize(6, 150)}


def test_a_batch_without_tasks_counts_nothing() -> None:
    report = BatchTotals(["a"]).add_up([], 0.1)
    assert (report.tally, report.stores, report.by_store) == (Tally(), {}, {})
