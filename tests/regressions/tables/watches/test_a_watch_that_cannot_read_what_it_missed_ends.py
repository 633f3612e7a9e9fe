"""A resumed watch whose log could not be read went on with what came in, without what was missed.

Reading the missed changes failed, the error was raised once, and the next ``take`` gave the live
changes: those between were skipped, and the position moved past them.
"""

from __future__ import annotations

import pytest

from lastword.errors import ConnectionFailedError
from lastword.records import Position
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.logged_changes import resumed
from tests.support.local_tables.offline_table import TOPIC_ID, OfflineTable


def test_a_watch_whose_missed_changes_cannot_be_read_does_not_continue() -> None:
    clock = FakeClock()
    table = OfflineTable(clock)
    key = table.key_in(0)
    table.append(key, b"1")
    gone = ConnectionFailedError("no broker answers")
    watch = resumed(table, Position({0: 0}, TOPIC_ID, clock.now_ms()), gone)
    table.append(key, b"2")
    with pytest.raises(ConnectionFailedError):
        watch.take(1)
    assert watch.closed
    assert len(table.replicas.feed) == 0
