"""One key that cannot be decoded does not take the others that a sweep dropped with it.

A watcher decoded all dropped keys of a batch at once: at the first bad one it raised, and the
deletes after it were never reported.
"""

from __future__ import annotations

import pytest

from lastword.errors import DecodeError
from lastword.replicas.watch.feed import Dropped
from tests.support.local_tables.real_topic import RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take


def test_the_deletes_after_it_are_reported(tables: Tables, topic: RealTopic) -> None:
    table = tables.open(topic.name)
    with table.watch() as changes:
        # As a sweep does: its own test is about when that happens, not about what follows.
        table._lifecycle.parts.replicas.feed.publish(Dropped(0, [b"a", b"\xff", b"b"]))
        (first,) = take(changes, 1)
        with pytest.raises(DecodeError, match="not UTF-8"):
            take(changes, 1)
        (last,) = take(changes, 1)
    assert [(each.key, each.deleted) for each in (first, last)] == [("a", True), ("b", True)]
