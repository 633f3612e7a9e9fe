"""Tables with keys and values of every kind, on a real topic."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest

from lastword.codecs.composite import StartsWith, composite
from lastword.codecs.typed import TypedCodec
from lastword.codecs.windowed import SessionKey, WindowedKey, session, windowed
from lastword.errors import ConfigError, DecodeError, EncodeError
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.table.table import Table
from tests.support.local_tables.tables import Tables, read_raw, write_raw

MINUTE_MS = 60_000


class User(msgspec.Struct):
    name: str
    age: int
    email: str | None = None


@pytest.mark.parametrize(
    ("codec", "keys"),
    [
        ("string", ["a", "ä", "日本", "a b\n"]),
        ("bytes", [b"\x00", b"a", b"\xff\xff"]),
        ("int64", [0, 1, 2**40, -1]),
        ("json", [{"b": 1, "a": [2]}, [1, "x"], "text", 7]),
        ("msgpack", ["a", 7, [1, 2]]),
    ],
)
def test_keys_of_every_codec_are_found_again(
    topic: str, tables: Tables, store: str, codec: str, keys: list[Any]
) -> None:
    table = tables.open(topic, key=codec, store=store)
    for n, key in enumerate(keys):
        table.put(key, n)
    assert [table.get(key) for key in keys] == list(range(len(keys)))
    assert len(table) == len(keys)
    again = tables.open(topic, key=codec)
    assert list(again.items()) == list(table.items())


@pytest.mark.parametrize(
    ("codec", "values"),
    [
        ("string", ["", "x", "ß"]),
        ("bytes", [b"", b"\x00\xff"]),
        ("int64", [0, -1, 2**63 - 1]),
        ("json", [None, "", 0, False, [], {}, {"a": [1, 2.5, None]}]),
        ("msgpack", [None, b"bytes", {"a": [1]}, 2**60]),
    ],
)
def test_values_of_every_codec_come_back_as_they_were(
    topic: str, tables: Tables, store: str, codec: str, values: list[Any]
) -> None:
    table = tables.open(topic, value=codec, store=store)
    table.put_many((f"key-{n}", value) for n, value in enumerate(values))
    assert [value for _, value in table.items()] == values


def test_numbers_as_keys_are_those_of_java(
    topic: str, tables: Tables, connection: Connection
) -> None:
    counts = tables.open(topic, key="int64", value="int64")
    write_raw(connection, topic, [(struct.pack(">q", 7), struct.pack(">q", 42))])
    version = counts.put(8, 43)
    raw = {record.key: record.value for record in read_raw(connection, topic)}
    assert raw[struct.pack(">q", 8)] == struct.pack(">q", 43)
    assert version.partition == Keyspace(3).partition_of(struct.pack(">q", 8))
    reopened = tables.open(topic, key="int64", value="int64")
    assert list(reopened.range(0, 8)) == [(7, 42)]


def test_negative_numbers_sort_last_and_the_error_of_a_range_says_so(
    topic: str, tables: Tables
) -> None:
    table = tables.open(topic, key="int64")
    table.put_many({-1: "minus", 0: "zero", 1: "one"})
    assert list(table) == [0, 1, -1]
    with pytest.raises(ConfigError, match="runs backwards in the order of its keys") as refused:
        table.range(-1, 1)
    assert "ordered by their bytes" in (refused.value.hint or "")


def test_a_prefix_of_numbers_makes_no_sense_and_is_refused(topic: str, tables: Tables) -> None:
    table = tables.open(topic, key="int64")
    with pytest.raises(ConfigError, match="int64 keys cannot be searched by the prefix"):
        table.prefix(7)


def test_a_prefix_of_a_composite_key_is_its_first_field(
    topic: str, tables: Tables, store: str
) -> None:
    table = tables.open(topic, key=composite("region", "user_id"), store=store)
    rows = {
        ("eu", "user-1"): 1,
        ("eu", "user-2"): 2,
        ("eu", "other"): 3,
        ("eu-west", "user-1"): 4,
        ("europe", "user-1"): 5,
        ("us", "a:b;c"): 6,
    }
    table.put_many(rows)
    assert dict(table.prefix("eu")) == {key: n for key, n in rows.items() if key[0] == "eu"}
    assert [n for _, n in table.prefix(StartsWith("eu"))] == [3, 1, 2, 4, 5]
    assert [n for _, n in table.prefix(("eu", StartsWith("user-")))] == [1, 2]
    assert list(table) == sorted(rows)
    assert [key for key, _ in table.range(("eu", "p"), ("europe", "z"))] == [
        ("eu", "user-1"),
        ("eu", "user-2"),
        ("eu-west", "user-1"),
        ("europe", "user-1"),
    ]
    (first, _), *_ = table.items()
    assert (first.region, first.user_id) == ("eu", "other")
    with pytest.raises(EncodeError, match="is not a composite"):
        table.get("eu:user-1")


def test_the_windows_of_a_key_are_found_by_time(topic: str, tables: Tables, store: str) -> None:
    table = tables.open(topic, key=windowed("string", MINUTE_MS), value="int64", store=store)
    versions = {
        table.put(WindowedKey(key, start * MINUTE_MS), start)
        for key in ("a", "a\x00\x00\x00\x00\x00\x00\x00\x00", "ab", "b")
        for start in range(5)
    }
    windows = table.query.windows("a", MINUTE_MS, 4 * MINUTE_MS)
    assert [(w.key.key, w.key.start_ms, w.value) for w in windows] == [
        ("a", start * MINUTE_MS, start) for start in (1, 2, 3)
    ]
    assert len(list(table.query.windows("a"))) == 5
    assert list(table.query.windows("nobody")) == []
    home = Keyspace(3).partition_of(b"a")
    assert windows.position.offsets == {home: table.position().offsets[home]}
    assert {v.partition for v in versions} == {
        Keyspace(3).partition_of(key.encode()) for key in ("a", "a" + "\x00" * 8, "ab", "b")
    }


def test_the_windows_of_a_key_are_where_the_key_is(
    topic: str, tables: Tables, connection: Connection
) -> None:
    table = tables.open(topic, key=windowed("string", MINUTE_MS))
    for n in range(20):
        table.put(WindowedKey("patient-1", n * MINUTE_MS), n)
    table.delete(WindowedKey("patient-1", 0))
    partitions = {record.partition for record in read_raw(connection, topic)}
    assert partitions == {Keyspace(3).partition_of(b"patient-1")}
    again = tables.open(topic, key=windowed("string", MINUTE_MS))
    assert len(again) == 19
    assert again[WindowedKey("patient-1", MINUTE_MS)] == 1
    misplaced = again.metrics.counter("misplaced_records_total")
    assert misplaced.value == 0


def test_the_sessions_of_a_key_are_found_by_their_end(
    topic: str, tables: Tables, store: str
) -> None:
    table = tables.open(topic, key=session("string"), store=store)
    for start_ms, end_ms in [(0, 10), (20, 45), (50, 90)]:
        table.put(SessionKey("a", start_ms, end_ms), end_ms - start_ms)
        table.put(SessionKey("b", start_ms, end_ms), 0)
    found = [(entry.key.start_ms, entry.value) for entry in table.query.windows("a", 40, 91)]
    assert found == [(20, 25), (50, 40)]
    assert [entry.key.end_ms for entry in table.query.windows("a")] == [10, 45, 90]


def test_a_table_without_windows_says_how_to_have_them(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    with pytest.raises(ConfigError, match="string keys has no windows") as refused:
        table.query.windows("a")
    assert "windowed(" in (refused.value.hint or "")


@pytest.mark.parametrize("codec", [User, TypedCodec("msgpack", User)], ids=["json", "msgpack"])
def test_typed_values_are_structs(topic: str, tables: Tables, store: str, codec: Any) -> None:
    table = tables.open(topic, value=codec, store=store)
    table.put("user-1", User("Alice", 25))
    assert table["user-1"] == User("Alice", 25)
    with pytest.raises(EncodeError, match="takes User, not dict") as refused:
        table.put("user-2", {"name": "Bob", "age": 30})
    assert refused.value.hint == "make a User of it first"
    assert len(table) == 1


def test_a_document_that_does_not_fit_says_where_it_is_and_what_is_wrong(
    topic: str, tables: Tables, connection: Connection, store: str
) -> None:
    write_raw(connection, topic, [(b"user-1", b'{"name":"Alice","age":25}')])
    write_raw(connection, topic, [(b"user-2", b'{"name":"Bob","age":"thirty"}')])
    table = tables.open(topic, value=User, store=store)
    partition = Keyspace(3).partition_of(b"user-2")
    (offset,) = (r.offset for r in read_raw(connection, topic) if r.key == b"user-2")
    with pytest.raises(DecodeError) as bad:
        table.get("user-2")
    assert str(bad.value) == (
        f"{topic}, partition {partition}, offset {offset}: "
        "does not fit User: Expected `int`, got `str` - at `$.age`"
    )
    assert (bad.value.topic, bad.value.partition, bad.value.offset) == (topic, partition, offset)
    assert "on_bad" in (bad.value.hint or "")
    assert table["user-1"] == User("Alice", 25)


def read_everything(table: Table) -> dict[Any, Any]:
    return dict(table.items())


def test_the_policy_decides_what_a_bad_record_does(
    topic: str, tables: Tables, connection: Connection
) -> None:
    write_raw(connection, topic, [(b"good", b"1"), (b"bad", b"0"), (b"bad", b"{")])
    failing, skipping, quarantining = (
        tables.open(topic, name=policy, on_bad=policy) for policy in ("fail", "skip", "quarantine")
    )
    with pytest.raises(DecodeError, match="not json"):
        read_everything(failing)
    assert read_everything(skipping) == {"good": 1}
    assert skipping.get("bad", "absent") == "absent"
    assert skipping.metrics.counter("skipped_records_total").value > 0
    assert read_everything(quarantining) == {"good": 1, "bad": 0}
    (record,) = quarantining.quarantined()
    assert (record.key, record.partition) == (b"bad", Keyspace(3).partition_of(b"bad"))
    assert "not json" in record.reason
    skipping.put("bad", 2)
    for table in (failing, skipping, quarantining):
        at_least = skipping.position()
        assert table.query.get("bad", at_least=at_least).value is not None
        assert read_everything(table) == {"good": 1, "bad": 2}
    assert quarantining.quarantined() == []
