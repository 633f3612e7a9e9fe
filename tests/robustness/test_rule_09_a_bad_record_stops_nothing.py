"""Rule 9: a value that cannot be read never stops a table; the user chose what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.errors import DecodeError
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take

POISON = b"{not json"
PLACES = pytest.mark.parametrize("place", [0, 2, 4], ids=["first", "middle", "last"])


def counted(table: Table, name: str) -> int:
    return table.metrics.counter(name).value


def write_with_poison(topic: RealTopic, place: int) -> dict[str, Any]:
    """Four good keys and, at that place among them, a bad one; what is good of it."""
    pairs = [(b"key-%d" % n, b"%d" % n) for n in range(4)]
    pairs.insert(place, (b"poisoned", POISON))
    topic.produce(*pairs)
    return {f"key-{n}": n for n in range(4)}


def fully_read(table: Table, topic: RealTopic) -> None:
    wait_until(lambda: table.position().offsets[0] == topic.end(), "everything is applied")


@PLACES
def test_fail_raises_where_the_bad_record_is_read_and_nowhere_else(
    topic: RealTopic, tables: Tables, place: int
) -> None:
    good = write_with_poison(topic, place)
    table = tables.open(topic.name, on_bad="fail")
    assert table.get_many(good) == good
    where = f"{topic.name}, partition 0, offset {place}: "
    with pytest.raises(DecodeError, match=where) as bad:
        table.get("poisoned")
    assert (bad.value.partition, bad.value.offset) == (0, place)
    with pytest.raises(DecodeError, match=where):
        list(table.items())
    table.put("poisoned", 9)
    assert dict(table.items()) == good | {"poisoned": 9}


@PLACES
def test_skip_reads_as_if_the_key_were_absent_and_counts(
    topic: RealTopic, tables: Tables, place: int
) -> None:
    good = write_with_poison(topic, place)
    table = tables.open(topic.name, on_bad="skip")
    assert dict(table.items()) == good
    assert "poisoned" not in table
    assert counted(table, "skipped_records_total") == 2


@PLACES
@pytest.mark.parametrize("live", [True, False], ids=["live", "restored"])
def test_quarantine_keeps_the_last_good_row_and_lists_the_bad_one(
    topic: RealTopic, tables: Tables, place: int, live: bool
) -> None:
    topic.produce((b"poisoned", b"7"))
    if live:
        table = tables.open(topic.name, on_bad="quarantine")
        good = write_with_poison(topic, place)
        fully_read(table, topic)
    else:
        good = write_with_poison(topic, place)
        table = tables.open(topic.name, on_bad="quarantine")
    assert dict(table.items()) == good | {"poisoned": 7}
    (bad,) = table.quarantined()
    assert (bad.partition, bad.offset, bad.key) == (0, place + 1, b"poisoned")
    assert "JSON" in bad.reason or "json" in bad.reason
    assert counted(table, "quarantined_records_total") == 1


def test_a_bad_record_without_a_good_one_before_it_is_listed_and_has_no_row(
    topic: RealTopic, tables: Tables
) -> None:
    topic.produce((b"poisoned", POISON))
    table = tables.open(topic.name, on_bad="quarantine")
    assert len(table) == 0
    assert [bad.key for bad in table.quarantined()] == [b"poisoned"]


@pytest.mark.parametrize("cure", [b"8", None], ids=["write", "tombstone"])
def test_the_list_survives_a_restart_and_the_next_good_write_or_tombstone_clears_it(
    topic: RealTopic, tables: Tables, cure: bytes | None
) -> None:
    options = {"store": "rocksdb", "on_bad": "quarantine"}
    with tables.make(topic.name, **options) as table:
        table.put("poisoned", 7)
        topic.produce((b"poisoned", POISON))
        wait_until(table.quarantined, "the bad record is listed")
    table = tables.open(topic.name, **options)
    assert [bad.offset for bad in table.quarantined()] == [1]
    assert table["poisoned"] == 7
    topic.produce((b"poisoned", cure))
    fully_read(table, topic)
    assert table.quarantined() == []
    assert table.get("poisoned") == (8 if cure else None)
    table.close()
    assert tables.open(topic.name, **options).quarantined() == []


def test_a_watcher_under_fail_gets_an_error_and_can_continue(
    topic: RealTopic, tables: Tables
) -> None:
    table = tables.open(topic.name, on_bad="fail")
    with table.watch() as watch:
        topic.produce((b"a", b"1"), (b"poisoned", POISON), (b"b", b"2"))
        assert [change.key for change in take(watch, 1)] == ["a"]
        with pytest.raises(DecodeError, match="offset 1"):
            take(watch, 1)
        assert [change.key for change in take(watch, 1)] == ["b"]


@pytest.mark.parametrize("policy", ["skip", "quarantine"])
def test_a_watcher_under_the_other_policies_sees_the_good_changes_only(
    topic: RealTopic, tables: Tables, policy: Any
) -> None:
    table = tables.open(topic.name, on_bad=policy)
    with table.watch() as watch:
        topic.produce((b"a", b"1"), (b"poisoned", POISON), (b"b", b"2"))
        assert [change.key for change in take(watch, 2)] == ["a", "b"]


def test_a_key_that_cannot_be_read_is_a_bad_record_too(topic: RealTopic, tables: Tables) -> None:
    topic.produce((b"a", b"1"), (b"\xff\xfe", b"2"))
    table = tables.open(topic.name, on_bad="quarantine")
    assert dict(table.items()) == {"a": 1}
    assert [bad.key for bad in table.quarantined()] == [b"\xff\xfe"]
