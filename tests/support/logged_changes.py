"""Missed changes that a test wrote down, instead of a log in Kafka."""

from __future__ import annotations

from collections.abc import Callable, Generator

from lastword.records import Batch, Position
from lastword.replicas.watch.missed import MissedChanges
from lastword.table.raw_watch import RawWatch
from tests.support.offline_table import NOWHERE, OfflineTable


class LoggedChanges(MissedChanges):
    """Reads a log that a test wrote down; an error stands for a log that cannot be read on."""

    log: tuple[Batch | Exception, ...] = ()

    def batches(
        self,
        joined: Position,
        *,
        stopping: Callable[[], bool] = lambda: False,
        queue_bytes: int = 0,
    ) -> Generator[Batch, None, None]:
        for item in self.log:
            if isinstance(item, Exception):
                raise item
            yield item
        self.check()


def resumed(table: OfflineTable, since: Position, *log: Batch | Exception) -> RawWatch:
    """A watch that has seen ``since``, over a log that holds these batches after it."""
    missed = LoggedChanges(table.replicas, NOWHERE, since)
    missed.log = log
    return RawWatch(table.replicas, missed)
