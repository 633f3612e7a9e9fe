"""Rule 7: null and empty keys are refused or counted; null-ish values are three things."""

from __future__ import annotations

import pytest

from lastword.errors import EncodeError, InvalidRecordError
from lastword.table.table import Table
from lastword.table.writing.conditions import TOMBSTONE
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take


def keyless(table: Table) -> int:
    return table.metrics.counter("keyless_records_total").value


def test_null_keys_in_a_topic_made_compact_later_are_counted_and_dropped(
    make_topic: MakeTopic, tables: Tables
) -> None:
    topic = make_topic(settings={"cleanup.policy": "delete"})
    topic.produce((None, b"no key"), (b"a", b"1"), (None, None), (b"b", b"2"))
    topic.alter({"cleanup.policy": "compact"})
    table = tables.open(topic.name, **RAW)
    assert dict(table.items()) == {b"a": b"1", b"b": b"2"}
    assert keyless(table) == 2


def test_empty_keys_are_counted_and_dropped_live_and_after_a_restart(
    topic: RealTopic, tables: Tables
) -> None:
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        topic.produce((b"", b"empty key"), (b"a", b"1"))
        wait_until(lambda: keyless(table) == 1, "the keyless record is counted")
        assert dict(table.items()) == {b"a": b"1"}
    topic.produce((b"", None))
    table = tables.open(topic.name, store="rocksdb", **RAW)
    assert dict(table.items()) == {b"a": b"1"}
    assert keyless(table) == 1


@pytest.mark.parametrize("write", ["put", "delete", "put_many"])
def test_an_empty_key_is_refused_before_anything_is_written(
    topic: RealTopic, tables: Tables, write: str
) -> None:
    table = tables.open(topic.name)
    if write == "put_many":
        bad, good = table.put_many([("", 1), ("a", 2)])
        assert bad.status == "failed"
        assert isinstance(bad.error, InvalidRecordError)
        assert good.status == "ok"
        assert topic.keys() == [b"a"]
        return
    with pytest.raises(InvalidRecordError, match="at least one byte") as refused:
        table.put("", 1) if write == "put" else table.delete("")
    assert refused.value.hint is not None
    assert topic.end() == 0


def test_a_null_key_is_refused_before_anything_is_written(topic: RealTopic, tables: Tables) -> None:
    table = tables.open(topic.name)
    with pytest.raises(EncodeError):
        table.put(None, 1)
    assert topic.end() == 0


def test_json_null_empty_bytes_and_a_tombstone_stay_three_things(
    topic: RealTopic, tables: Tables
) -> None:
    table = tables.open(topic.name, store="rocksdb", value="json")
    with table.watch() as watch:
        outcomes = table.put_many([("null", None), ("empty", ""), ("gone", 1), ("gone", TOMBSTONE)])
        changes = take(watch, 4)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 4
    assert [record.value for record in topic.log()] == [b"null", b'""', b"1", None]
    assert [(c.key, c.value, c.deleted) for c in changes] == [
        ("null", None, False),
        ("empty", "", False),
        ("gone", 1, False),
        ("gone", None, True),
    ]
    table.close()
    again = tables.open(topic.name, store="rocksdb", value="json")
    assert "null" in again
    assert again.get("null", "default") is None
    assert "gone" not in again
    assert again.get("gone", "default") == "default"
    assert dict(again.items()) == {"null": None, "empty": ""}


def test_empty_bytes_are_a_value_and_survive_a_restart(topic: RealTopic, tables: Tables) -> None:
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        table.put(b"a", b"")
        topic.produce((b"b", b""), (b"c", b"1"), (b"c", None))
        wait_until(lambda: table.position().offsets == {0: 4}, "everything is applied")
        assert dict(table.items()) == {b"a": b"", b"b": b""}
    table = tables.open(topic.name, store="rocksdb", **RAW)
    assert dict(table.items()) == {b"a": b"", b"b": b""}
    assert table.get(b"a") == b""
