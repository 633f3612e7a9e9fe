"""A position carries the id of its topic, so that one of a deleted topic is refused.

Offsets start over when a topic is deleted and created again. A watch from an old position skipped
everything before the old offset, without an error.
"""

from __future__ import annotations

import pytest

from lastword.errors import ConfigError, MomentGoneError, WatchLostError
from lastword.records import Position
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take


def test_a_position_of_a_topic_that_was_created_again_is_refused(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic()
    topic.produce(*((b"old-%d" % n, b"1") for n in range(5)))
    table = tables.open(topic.name, **RAW)
    old = Position.parse(str(table.position()))
    assert table.query.count().position == old
    topic.delete()
    topic.create()
    topic.produce(*((b"new-%d" % n, b"1") for n in range(8)))
    wait_until(lambda: table.position().topic_id != old.topic_id, "a new topic", timeout=180)
    table.wait_ready()
    wait_until(lambda: len(table) == 8, "the table has all of it")
    with pytest.raises(WatchLostError, match="a topic that was deleted"):
        table.watch(old)
    with pytest.raises(ConfigError, match="belongs to an earlier topic"):
        table.query.get(b"new-0", at_least=old)
    with pytest.raises(MomentGoneError, match="a topic that was deleted"):
        table.as_of(old)
    with table.watch(Position({0: 0}, table.position().topic_id)) as watch:
        assert [change.key for change in take(watch, 8)] == [b"new-%d" % n for n in range(8)]


def test_a_position_without_a_topic_is_refused_by_a_watch(
    make_topic: MakeTopic, tables: Tables
) -> None:
    table = tables.open(make_topic().name, **RAW)
    with pytest.raises(WatchLostError, match="does not name its topic") as lost:
        table.watch(Position.parse("0:0"))
    assert "position of an answer" in (lost.value.hint or "")
