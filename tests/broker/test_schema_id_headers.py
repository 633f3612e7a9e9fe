"""Records whose schema ids are in headers, beside records that have them in front."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.errors import DecodeError
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.service.api.key_reads import read_key
from lastword.service.api.served import Mount, ServedTable
from lastword.table.schemas.held_versions import count_versions
from lastword.table.schemas.rewriting import rewrite
from lastword.table.table import Table
from tests.support.tables import Tables

pytestmark = pytest.mark.broker

WAIT_S = 60.0
VALUE = "__value_schema_id"
KEY = "__key_schema_id"
AGE = {"name": "age", "type": "int", "default": -1}
PROTO = 'syntax = "proto3"; message Other {} message User { string name = 1; }'
JSON = {"type": "object", "properties": {"name": {"type": "string"}}}
ID_BYTES = {"avro": 5, "json_schema": 5, "protobuf": 7}  # of Protobuf with the path 1


def user(*fields: dict[str, Any]) -> dict[str, Any]:
    name = {"name": "name", "type": "string"}
    return {"type": "record", "name": "User", "fields": [name, *fields]}


def coder_of(registry: EmbeddedRegistry, kind: str, topic: str, schema: Any = None) -> Any:
    rules = {"message": "User"} if kind == "protobuf" else {}
    codec = getattr(Registry(registry.url, auto_register=True), kind)(schema, **rules)
    return codec.bound(Context(topic, "value"))


def put_with_header(table: Table, key: bytes, data: bytes, id_bytes: int) -> None:
    headers = (("trace", b"1"), (VALUE, data[:id_bytes]))
    table.raw.put(key, data[id_bytes:], headers=headers)


@pytest.mark.parametrize(
    ("kind", "schema"),
    [("avro", user()), ("json_schema", JSON), ("protobuf", PROTO)],
    ids=["avro", "json-schema", "protobuf"],
)
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
