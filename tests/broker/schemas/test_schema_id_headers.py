"""Records whose schema ids are in headers, beside records that have them in front."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.resolve import codecs_for
from lastword.codecs.windowed import windowed
from lastword.errors import ConfigError, DecodeError
from lastword.kafka.connection import Connection
from lastword.records import ABSENT
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.service.api.key_reads import read_key
from lastword.service.api.served import Mount, ServedTable
from lastword.snapshots.catalog.decoded_columns import decoded_columns
from lastword.snapshots.catalog.merge import CHANGES
from lastword.table.schemas.held_versions import count_versions, versioned
from lastword.table.schemas.rewriting import rewrite
from lastword.table.table import Table
from lastword.table.writing.conditions import TOMBSTONE
from lastword.writer.event_log import EventLog
from tests.support.local_tables.tables import Tables, read_raw

pytestmark = pytest.mark.broker

WAIT_S = 180.0
VALUE = "__value_schema_id"
KEY = "__key_schema_id"
AGE = {"name": "age", "type": "int", "default": -1}
PROTO = 'syntax = "proto3"; message Other {} message User { string name = 1; }'
JSON = {"type": "object", "properties": {"name": {"type": "string"}}}
ID_BYTES = {"avro": 5, "json_schema": 5, "protobuf": 7}  # of Protobuf with the path 1


def user(*fields: dict[str, Any]) -> dict[str, Any]:
    name = {"name": "name", "type": "string"}
    return {"type": "record", "name": "User", "fields": [name, *fields]}


KINDS = pytest.mark.parametrize(
    ("kind", "schema"),
    [("avro", user()), ("json_schema", JSON), ("protobuf", PROTO)],
    ids=["avro", "json-schema", "protobuf"],
)


def coder_of(registry: EmbeddedRegistry, kind: str, topic: str, schema: Any = None) -> Any:
    rules = {"message": "User"} if kind == "protobuf" else {}
    codec = getattr(Registry(registry.url, auto_register=True), kind)(schema, **rules)
    return codec.bound(Context(topic, "value"))


def with_header_ids(registry: EmbeddedRegistry, kind: str, schema: Any = None) -> Any:
    rules = {"message": "User"} if kind == "protobuf" else {}
    schemas = Registry(registry.url, auto_register=True, id_in="header")
    return getattr(schemas, kind)(schema, **rules)


def put_with_header(table: Table, key: bytes, data: bytes, id_bytes: int) -> None:
    headers = (("trace", b"1"), (VALUE, data[:id_bytes]))
    table.raw.put(key, data[id_bytes:], headers=headers)


def decoded_of(table: Table, key: Any, value: Any) -> tuple[list[Any], list[Any]]:
    """The decoded columns of a snapshot of the table."""
    columns = decoded_columns(*codecs_for(table.topic, key, value))
    rows = [
        {
            "key": entry.key,
            "value": entry.value,
            "headers": [{"key": name, "value": each} for name, each in entry.headers],
            "offset": entry.version.offset,
            "timestamp": entry.timestamp_ms,
        }
        for entry in table.raw.scan()
    ]
    arrays, unfit = columns.of(pa.RecordBatch.from_pylist(rows, schema=CHANGES))
    assert not unfit
    return arrays["decoded_key"].to_pylist(), arrays["decoded_value"].to_pylist()


@KINDS
def test_both_kinds_of_ids_are_read_in_one_table(
    tables: Tables, registry: EmbeddedRegistry, topic: str, kind: str, schema: Any
) -> None:
    coder = coder_of(registry, kind, topic, schema)
    table = tables.open(topic, value=coder, on_bad="quarantine", application_id=topic)
    with table.watch() as changes:
        table.put("front", {"name": "front"})
        put_with_header(table, b"header", coder.encode({"name": "header"}), ID_BYTES[kind])
        expected = {name: {"name": name} for name in ("front", "header")}
        seen = [changes.take(WAIT_S) for _ in expected]
        assert {each.key: each.value for each in seen if each is not None} == expected
    assert not table.quarantined()
    assert dict(table.items()) == expected
    assert table.get("header") == table.query.get("header").value.value == {"name": "header"}
    served = ServedTable(Mount(table))
    answer = read_key(served, b"header", {})
    assert msgspec.json.decode(answer.body) == {"name": "header"}
    assert [item and item.error for item in map(served.item, table.raw.scan())] == [
        msgspec.UNSET,
        msgspec.UNSET,
    ]
    past = table.as_of(table.position())
    assert dict(past.items()) == expected
    _, decoded = decoded_of(table, "string", coder)
    assert decoded == list(expected.values())


def test_a_value_with_neither_id_is_quarantined(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    coder = coder_of(registry, "avro", topic, user())
    table = tables.open(topic, value=coder, on_bad="quarantine", application_id=topic)
    data = coder.encode({"name": "a"})
    table.raw.put(b"bare", data[5:])
    table.raw.put(b"other", data[5:], headers=((KEY, data[:5]), (VALUE, None)))
    put_with_header(table, b"good", data, 5)
    assert list(table) == ["good"]
    with pytest.raises(DecodeError, match="too short"):
        coder.decode(coder.joined(b"x", ((VALUE, b"\x01guid"),)))


def test_old_values_are_rewritten_without_the_header(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    old, new = (coder_of(registry, "avro", topic, schema) for schema in (user(), user(AGE)))
    table = tables.open(topic, value=new, application_id=topic)
    put_with_header(table, b"old", old.encode({"name": "old"}), 5)
    put_with_header(table, b"new", new.encode({"name": "new", "age": 1}), 5)
    held = count_versions(table.raw, new)
    assert [(each.version and each.version.number, each.keys) for each in held] == [(1, 1), (2, 1)]
    done = rewrite(table.raw, new, conditional=False)
    assert (done.written, done.current, done.failed) == (1, 1, 0)
    entry = table.query.get("old").value
    assert entry.value == {"name": "old", "age": -1}
    assert entry.headers == (("trace", b"1"),)


def test_an_owner_updates_a_value_with_its_id_in_a_header(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    coder = coder_of(registry, "avro", topic, user(AGE))
    table = tables.open(topic, value=coder, writes="owned", application_id=topic)
    for key in (b"merged", b"updated"):
        put_with_header(table, key, coder.encode({"name": "a", "age": 1}), 5)
    table.merge("merged", {"age": 2})
    table.update("updated", lambda value: value | {"age": 3})
    assert {key: value["age"] for key, value in table.items()} == {"merged": 2, "updated": 3}


def test_keys_with_their_ids_in_headers_are_read(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    schemas = Registry(registry.url, auto_register=True)
    keys = schemas.avro('"string"').bound(Context(topic, "key"))
    table = tables.open(topic, key=schemas.avro('"string"'), application_id=topic)
    data = keys.encode("header")
    table.raw.put(data[5:], b"1", headers=((KEY, data[:5]),))
    table.put("front", 2)
    assert dict(table.items()) == {"front": 2, "header": 1}
    assert decoded_of(table, schemas.avro('"string"'), "json") == (["front", "header"], ["2", "1"])


@KINDS
def test_a_table_writes_the_id_to_the_header(
    tables: Tables, registry: EmbeddedRegistry, topic: str, kind: str, schema: Any
) -> None:
    front = coder_of(registry, kind, topic, schema)
    coder = with_header_ids(registry, kind, schema)
    table = tables.open(topic, value=coder, on_bad="quarantine", application_id=topic)
    table.put("one", {"name": "one"}, headers=(("trace", b"1"),))
    assert [
        each.status for each in table.put_many({"two": {"name": "two"}, "gone": TOMBSTONE})
    ] == [
        "ok",
        "ok",
    ]
    expected = {name: {"name": name} for name in ("one", "two")}
    assert dict(table.items()) == expected
    stored = {entry.key.decode(): entry for entry in table.raw.scan()}
    for name, entry in stored.items():
        whole = front.encode({"name": name})
        start = ID_BYTES[kind]
        assert (entry.value, entry.headers[-1]) == (whole[start:], (VALUE, whole[:start]))
    assert stored["one"].headers[0] == ("trace", b"1")
    _, decoded = decoded_of(table, "string", coder)
    assert decoded == list(expected.values())
    other = tables.open(topic, value=front, application_id=f"{topic}-other")
    assert dict(other.items()) == expected, "any codec of the schema reads both kinds"


def test_an_owner_writes_the_id_to_the_header(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    coder = with_header_ids(registry, "avro", user(AGE))
    table = tables.open(topic, value=coder, writes="owned", application_id=topic)
    version = table.put("put", {"name": "a", "age": 1}, if_version=ABSENT)
    table.put("put", {"name": "a", "age": 2}, if_version=version)
    assert table.merge("put", {"age": 3}).value == {"name": "a", "age": 3}
    updated = table.update("updated", lambda _: {"name": "b", "age": 4})
    assert updated is not None and updated.value["age"] == 4
    assert table.update("updated", lambda value: value | {"age": 5}) is not None
    table.transact({"transacted": {"name": "c", "age": 6}})
    assert {key: value["age"] for key, value in table.items()} == {
        "put": 3,
        "updated": 5,
        "transacted": 6,
    }
    for entry in table.raw.scan():
        assert entry.value[0] != 0, "the payload begins with the name"
        assert VALUE in dict(entry.headers)


def test_a_rewrite_moves_the_id_to_the_header(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    old = coder_of(registry, "avro", topic, user())
    table = tables.open(
        topic, value=with_header_ids(registry, "avro", user(AGE)), application_id=topic
    )
    table.raw.put(b"old", old.encode({"name": "old"}), headers=(("trace", b"1"),))
    assert [name for name, _ in table.query.get("old").value.headers] == ["trace", VALUE]
    done = rewrite(table.raw, versioned(table.decoder.value), conditional=False)
    assert (done.written, done.current, done.failed) == (1, 0, 0)
    entry = table.query.get("old").value
    assert entry.value == {"name": "old", "age": -1}
    assert [name for name, _ in entry.headers] == ["trace", VALUE]


def test_an_event_log_writes_the_id_to_the_header(
    connection: Connection, registry: EmbeddedRegistry, topic_name: str
) -> None:
    coder = with_header_ids(registry, "avro", user())
    with EventLog(topic_name, connection=connection, value=coder) as events:
        events.create(partitions=1)
        events.append("a", {"name": "one"}, headers=(("trace", b"1"),))
        events.append_many([("a", {"name": "two"})])
    first, second = read_raw(connection, topic_name)
    assert [name for name, _ in first.headers] == ["trace", VALUE]
    bound = coder.bound(Context(topic_name, "value"))
    values = [
        bound.decode(bound.joined(each.value or b"", each.headers)) for each in (first, second)
    ]
    assert values == [{"name": "one"}, {"name": "two"}]


def test_bytes_without_an_id_are_written_as_they_are(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    coder = with_header_ids(registry, "protobuf", PROTO)
    table = tables.open(topic, value=coder, application_id=topic)
    for key, raw in ((b"text", b"text"), (b"short", b"\x00\x00"), (b"id", b"\x00\x00\x00\x00\x01")):
        table.raw.put(key, raw)
    assert all(not entry.headers for entry in table.raw.scan())


def test_ids_of_keys_cannot_be_written_to_headers(
    tables: Tables, registry: EmbeddedRegistry, topic: str
) -> None:
    coder = with_header_ids(registry, "avro", '"string"')
    for key in (coder, windowed(coder, 1000)):
        with pytest.raises(ConfigError, match="cannot be written to headers") as refused:
            tables.make(topic, key=key)
        assert "id_in='payload'" in str(refused.value.hint)
    with pytest.raises(ConfigError, match="id_in='nowhere' does not exist"):
        Registry(registry.url, id_in="nowhere")  # type: ignore[arg-type]
