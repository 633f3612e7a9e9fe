"""Writing a table: when writes are readable, the records in the topic, and the outcomes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lastword.errors import EncodeError, InvalidRecordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.records import Position
from lastword.table.table import Table
from lastword.table.writing.conditions import TOMBSTONE
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables, read_raw


@pytest.fixture
def table(topic: str, tables: Tables, store: str) -> Table:
    return tables.open(topic, store=store)


def samples(table: Table) -> dict[tuple[str, str], float]:
    return {
        (sample.name, dict(sample.labels).get("operation", "")): sample.value
        for sample in table.metrics.samples()
    }


def test_a_put_is_readable_when_it_returns(table: Table) -> None:
    for n in range(100):
        version = table.put(f"user-{n % 7}", {"n": n})
        entry = table.entry(f"user-{n % 7}")
        assert entry is not None
        assert (entry.value, entry.version) == ({"n": n}, version)


def test_a_delete_is_effective_when_it_returns(table: Table) -> None:
    put = table.put("user-1", 1)
    deleted = table.delete("user-1")
    assert (deleted.partition, deleted.offset) == (put.partition, put.offset + 1)
    assert "user-1" not in table
    assert len(table) == 0


def test_deleting_an_absent_key_writes_a_tombstone_too(
    topic: str, table: Table, connection: Connection
) -> None:
    version = table.delete("never-there")
    (record,) = read_raw(connection, topic)
    assert (record.partition, record.offset, record.value) == (*version, None)


def test_a_version_is_where_the_record_is_in_the_log(
    topic: str, table: Table, connection: Connection
) -> None:
    versions = {table.put(f"user-{n}", n): n for n in range(10)}
    log = {(record.partition, record.offset): record for record in read_raw(connection, topic)}
    for (partition, offset), n in versions.items():
        record = log[partition, offset]
        assert (record.key, record.value) == (b"user-%d" % n, b"%d" % n)
        assert partition == Keyspace(3).partition_of(record.key or b"")


def test_headers_and_timestamp_travel_with_the_record(
    topic: str, table: Table, tables: Tables, connection: Connection
) -> None:
    headers = (("trace", b"1"), ("trace", b"2"), ("empty", b""), ("null", None))
    table.put("user-1", 1, headers=headers, timestamp_ms=1_600_000_000_000)
    entry = table.entry("user-1")
    assert entry is not None
    assert (entry.headers, entry.timestamp_ms) == (headers, 1_600_000_000_000)
    restored = tables.open(topic).entry("user-1")
    assert restored == entry
    table.delete("user-1", headers=(("why", b"left"),), timestamp_ms=1_600_000_000_001)
    tombstone = read_raw(connection, topic)[-1]
    assert tombstone.value is None
    assert (tombstone.headers, tombstone.timestamp_ms) == ((("why", b"left"),), 1_600_000_000_001)


def test_headers_may_be_given_as_a_list(table: Table) -> None:
    table.put("user-1", 1, headers=[("trace", b"1")])  # type: ignore[arg-type]
    entry = table.entry("user-1")
    assert entry is not None
    assert entry.headers == (("trace", b"1"),)


@pytest.mark.parametrize("headers", [{"trace": b"1"}, ["trace"], [("trace", "1")], [("a", 1)]])
def test_headers_that_are_none_are_refused_with_an_example(
    topic: str, tables: Tables, connection: Connection, headers: Any
) -> None:
    table = tables.open(topic)
    with pytest.raises(InvalidRecordError, match="are not headers") as refused:
        table.put("user-1", 1, headers=headers)
    assert "headers=((" in (refused.value.hint or "")
    assert read_raw(connection, topic) == []


@pytest.mark.parametrize("timestamp_ms", [0, -1])
def test_a_timestamp_that_kafka_cannot_hold_is_refused(
    topic: str, tables: Tables, connection: Connection, timestamp_ms: int
) -> None:
    table = tables.open(topic)
    with pytest.raises(InvalidRecordError, match=f"cannot have the timestamp {timestamp_ms}"):
        table.put("user-1", 1, timestamp_ms=timestamp_ms)
    assert read_raw(connection, topic) == []


def test_null_an_empty_value_and_a_delete_are_three_things(topic: str, tables: Tables) -> None:
    documents = tables.open(topic)
    documents.put("null", None)
    assert "null" in documents
    assert documents["null"] is None
    assert documents.get("null", "default") is None
    documents.delete("null")
    assert "null" not in documents
    raw = tables.open(topic, name="raw", value="bytes")
    raw.put("empty", b"")
    assert raw["empty"] == b""
    assert len(raw) == 1


@pytest.mark.parametrize("codec", ["string", "bytes"])
def test_an_empty_key_is_refused_before_anything_is_sent(
    topic: str, tables: Tables, connection: Connection, codec: str
) -> None:
    table = tables.open(topic, key=codec)
    empty = "" if codec == "string" else b""
    for write in (lambda: table.put(empty, 1), lambda: table.delete(empty)):
        with pytest.raises(InvalidRecordError, match="at least one byte") as refused:
            write()
        assert "compaction" in (refused.value.hint or "")
    assert read_raw(connection, topic) == []


def test_a_value_that_cannot_be_encoded_is_refused(
    topic: str, table: Table, connection: Connection
) -> None:
    with pytest.raises(EncodeError, match="cannot be written as json"):
        table.put("user-1", object())
    assert read_raw(connection, topic) == []


def test_many_records_have_an_outcome_each(table: Table) -> None:
    outcomes = table.put_many([("a", 1), ("b", 2), ("a", 3), ("b", TOMBSTONE), ("c", None)])
    assert [outcome.key for outcome in outcomes] == ["a", "b", "a", "b", "c"]
    assert {outcome.status for outcome in outcomes} == {"ok"}
    assert len({outcome.version for outcome in outcomes}) == 5
    assert dict(table.items()) == {"a": 3, "c": None}
    entry = table.entry("a")
    assert entry is not None
    assert entry.version == outcomes[2].version


def test_many_records_may_be_a_mapping_or_nothing(table: Table) -> None:
    assert table.put_many({}) == []
    assert [outcome.key for outcome in table.put_many({"a": 1, "b": 2})] == ["a", "b"]
    assert dict(table.items()) == {"a": 1, "b": 2}


def test_one_record_that_cannot_be_encoded_fails_alone(table: Table) -> None:
    bad, good, wrong_key, empty_key = table.put_many(
        [("bad", object()), ("good", 1), (7, 1), ("", 1)]
    )
    assert (bad.status, good.status, wrong_key.status, empty_key.status) == (
        "failed",
        "ok",
        "failed",
        "failed",
    )
    assert isinstance(bad.error, EncodeError)
    assert isinstance(wrong_key.error, EncodeError)
    assert isinstance(empty_key.error, InvalidRecordError)
    assert dict(table.items()) == {"good": 1}


def test_one_record_that_is_too_large_fails_alone_and_says_how_to_allow_it(
    admin: Admin, topic_name: str, tables: Tables
) -> None:
    create_topic(admin, topic_name, settings={"max.message.bytes": "2000"})
    table = tables.open(topic_name, value="bytes")
    incompressible = random.Random(1).randbytes(5_000)
    with pytest.raises(InvalidRecordError, match="is too large for") as refused:
        table.put("large", incompressible)
    assert "max.message.bytes" in (refused.value.hint or "")
    assert "large" not in table
    batch = {f"small-{n}": b"1" for n in range(10)} | {"large": incompressible, "last": b"2"}
    outcomes = {outcome.key: outcome.status for outcome in table.put_many(batch)}
    assert outcomes == dict.fromkeys(batch, "ok") | {"large": "failed"}
    assert set(table) == batch.keys() - {"large"}


def test_small_records_that_are_too_large_together_are_all_written(
    admin: Admin, topic_name: str, tables: Tables
) -> None:
    create_topic(admin, topic_name, partitions=1, settings={"max.message.bytes": "2000"})
    table = tables.open(topic_name, value="bytes")
    values = random.Random(1)
    outcomes = table.put_many((f"key-{n}", values.randbytes(100)) for n in range(1_000))
    assert {outcome.status for outcome in outcomes} == {"ok"}
    assert len(table) == 1_000


def test_a_large_batch_is_readable_when_it_returns(table: Table) -> None:
    outcomes = table.put_many((f"key-{n:05}", n) for n in range(20_000))
    assert {outcome.status for outcome in outcomes} == {"ok"}
    assert len(table) == 20_000
    assert [value for _, value in table.items()] == list(range(20_000))
    last = {o.version.partition: o.version.offset + 1 for o in outcomes if o.version is not None}
    assert table.position().at_least(Position(last))


def test_every_operation_is_counted_and_timed(table: Table) -> None:
    table.put("a", 1)
    table.delete("a")
    table.put_many({"b": 1})
    table.get("b")
    table.get_many(["b"])
    list(table.items())
    len(table)
    figures = samples(table)
    for operation in ("put", "delete", "put_many", "get", "get_many", "scan", "count"):
        assert figures["operation_seconds_count", operation] == 1, operation
        assert figures["operation_seconds_sum", operation] > 0, operation
    assert figures["records_applied_total", ""] == 3
