"""Rule 8: an unfit topic is refused before it is used, a changed partition count at any time."""

from __future__ import annotations

import pytest

from lastword.errors import PartitionCountError, TopicNotFoundError, TopicUnfitError
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.tables import Tables


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"cleanup.policy": "delete"}, "cleanup.policy is delete"),
        ({"cleanup.policy": "compact,delete"}, "keys disappear"),
        ({"min.insync.replicas": "2"}, "every write is refused"),
    ],
)
def test_a_topic_that_would_lose_the_table_is_refused(
    make_topic: MakeTopic, tables: Tables, settings: dict[str, str], what: str
) -> None:
    topic = make_topic(settings=settings)
    with pytest.raises(TopicUnfitError, match=what) as refused:
        tables.open(topic.name)
    assert refused.value.hint is not None
    assert "lastword topic alter" in refused.value.hint


def test_a_topic_that_is_not_there_is_not_created(topic_name: str, tables: Tables) -> None:
    for _ in range(2):
        with pytest.raises(TopicNotFoundError):
            tables.open(topic_name)


def test_partitions_added_while_the_table_was_away_are_refused_when_it_opens(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(partitions=2)
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        table.put_many({b"key-%d" % n: b"1" for n in range(10)})
    topic.add_partitions(3)
    for _ in range(2):  # being refused once must not make it acceptable
        table = tables.make(topic.name, store="rocksdb", **RAW)
        with pytest.raises(PartitionCountError, match="the table was built with 2"), table:
            table.get(b"key-0")


def test_partitions_added_under_a_live_table_stop_it_from_serving_and_writing(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(partitions=2)
    table = tables.open(topic.name, **RAW)
    table.put(b"key", b"1")
    topic.add_partitions(3)
    wait_until(lambda: table.state is TableState.ERROR, "the table notices")
    with pytest.raises(PartitionCountError, match="3 partitions instead of 2"):
        table.get(b"key")
    with pytest.raises(PartitionCountError):
        table.put(b"key", b"2")
    assert topic.fold() == {b"key": b"1"}


def test_a_topic_recreated_with_another_partition_count_under_a_live_table_stops_it(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(partitions=2)
    table = tables.open(topic.name, **RAW)
    topic.delete()
    topic.create(partitions=1)
    wait_until(lambda: table.state is TableState.ERROR, "the table notices")
    with pytest.raises(PartitionCountError, match="1 partitions instead of 2"):
        table.get(b"key")


def test_a_topic_with_its_rows_kept_by_another_table_name_is_built_from_scratch(
    topic: RealTopic, tables: Tables
) -> None:
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        table.put(b"key", b"1")
    other = tables.open(topic.name, name="other", store="rocksdb", **RAW)
    assert other.progress()[0].start == 0
    assert dict(other.items()) == {b"key": b"1"}
