"""Watches that resume over a log that a test wrote down."""

from __future__ import annotations

from collections.abc import Iterator

from lastword.records import Batch, Position
from lastword.replicas.watch.missed import MissedChanges
from lastword.table.raw_watch import RawWatch
from tests.support.local_tables.offline_table import OfflineTable
from tests.support.local_tables.written_log import WrittenLog


def resumed(table: OfflineTable, since: Position, *log: Batch | Exception) -> RawWatch:
    """A watch that has seen ``since``, over a log that holds these batches after it.

    An error means a log that cannot be read further.
    """

    def batches() -> Iterator[Batch]:
        for item in log:
            if isinstance(item, Exception):
                raise item
            yield item

    return RawWatch(table.replicas, MissedChanges(table.replicas, WrittenLog(batches), since))
