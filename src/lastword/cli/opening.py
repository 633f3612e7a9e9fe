"""Opens a table: restored to the end with a progress bar, then ready to answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lastword.cli.context import AppContext
from lastword.cli.progress import Report, progress_bar
from lastword.cli.table_making import make_table
from lastword.cli.table_options import TableSpec
from lastword.cli.windows import key_object
from lastword.table.entry import Change, Entry
from lastword.table.table import Table


@contextmanager
def open_table(app: AppContext, spec: TableSpec, *, store: str = "memory") -> Iterator[Table]:
    """The table of ``spec``, ready to answer; for one answer, memory is enough."""
    with ExitStack() as opened:
        with progress_bar(app.output, f"restoring {spec.topic}") as report:
            table = make_table(app, spec, store=store, restore_listener=_Restore(report))
            opened.callback(table.close)
            table.start()
            table.wait_ready()
        yield table


def note_if_stale(app: AppContext, *, stale: bool) -> None:
    """Say it when deletes may have been missed: an answer alone does not show it."""
    if stale:
        app.output.note("this answer may hold deleted keys: a sweep has not finished yet")


def describe_entry(entry: Entry) -> dict[str, object]:
    """The JSON shape of a key's current record."""
    return {
        "key": key_object(entry.key),
        "value": entry.value,
        "version": str(entry.version),
        "timestamp": entry.timestamp_ms,
        "headers": [[name, value] for name, value in entry.headers],
    }


def describe_change(change: Change) -> dict[str, object]:
    """The JSON shape of a put or a delete."""
    return {
        "key": key_object(change.key),
        "value": change.value,
        "deleted": change.deleted,
        "version": None if change.version is None else str(change.version),
        "timestamp": change.timestamp_ms,
        "headers": [[name, value] for name, value in change.headers],
    }


class _Restore:
    """Adds up the partitions of a restore for one bar."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._done: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def on_start(self, topic: str, partition: int, start: int, end: int) -> None:
        self._starts[partition] = self._done[partition] = start
        self._ends[partition] = end
        self._show()

    def on_batch(self, topic: str, partition: int, position: int, records: int) -> None:
        self._done[partition] = position
        self._show()

    def on_end(self, topic: str, partition: int, records: int) -> None:
        self._done[partition] = self._ends[partition]
        self._show()

    def _show(self) -> None:
        first = sum(self._starts.values())
        self._report(sum(self._done.values()) - first, sum(self._ends.values()) - first, "")
