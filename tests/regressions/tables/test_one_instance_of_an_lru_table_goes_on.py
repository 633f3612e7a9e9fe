"""Two instances of one LRU table evicted each other's keys from the topic.

Each took the other's records for its own, since both carry the application's mark, and each wrote
tombstones for what it had not used itself. Records name the instance now, and one of two stops.
"""

from __future__ import annotations

import pytest

from lastword.errors import FencedError
from lastword.table.table import Table
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.local_tables.tables import Tables

CAPACITY = 3
LRU = {"store": f"lru:{CAPACITY}", "application_id": "cache"}


@pytest.fixture
def first(tables: Tables, topic: RealTopic) -> Table:
    """An instance that has filled its capacity."""
    table = tables.open(topic.name, **LRU)
    table.put_many({f"first-{n}": n for n in range(CAPACITY)})
    return table


def assert_stopped(table: Table) -> None:
    wait_until(lambda: table.state is TableState.ERROR, "the instance has stopped")
    with pytest.raises(FencedError, match="another instance"):
        table.get("a")
    with pytest.raises(FencedError):
        table.put("a", 1)


def keys_of(topic: RealTopic) -> set[str]:
    return {key.decode() for key in topic.fold()}


def test_the_instance_that_writes_later_replaces_the_one_before(
    tables: Tables, topic: RealTopic, first: Table
) -> None:
    second = tables.open(topic.name, **LRU)
    second.get("first-2")

    second.put("second", 0)

    assert_stopped(first)
    kept = {"first-1", "first-2", "second"}
    wait_until(lambda: keys_of(topic) == kept, "what the second one keeps is in the topic")
    assert set(second) == kept


def test_an_instance_that_has_not_written_stops_when_another_does(
    tables: Tables, topic: RealTopic, first: Table
) -> None:
    second = tables.open(topic.name, **LRU)
    second.get("first-0")  # to the second one, 1 is what was not used for longest

    first.get("first-1")
    first.put("first-3", 3)

    assert_stopped(second)
    kept = {"first-1", "first-2", "first-3"}
    wait_until(lambda: keys_of(topic) == kept, "what the first one keeps is in the topic")
    assert set(first) == kept


def test_a_closed_instance_does_not_count_as_another(
    tables: Tables, topic: RealTopic, first: Table
) -> None:
    first.close()

    second = tables.open(topic.name, **LRU)
    second.put("second", 0)

    assert set(second) == {"first-1", "first-2", "second"}
    assert second.entry("second").headers == ()  # type: ignore[union-attr]
