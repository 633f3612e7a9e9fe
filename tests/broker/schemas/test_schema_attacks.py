"""Schemas and records that are wrong or hostile: clear errors, no crash, nothing written."""

from __future__ import annotations

import http.client
import json
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.registry.client import RegistryClient, RegistrySettings, Schema
from lastword.errors import ConfigError, DecodeError, EncodeError, RegistryError
from lastword.registry_server.embedded_registry import EmbeddedRegistry

pytestmark = pytest.mark.broker

AGE = {"name": "age", "type": "int"}
AGE_OR = AGE | {"default": -1}


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "children", "type": {"type": "array", "items": "Tree"}},
    ],
}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    name = {"name": "name", "type": "string"}
    return {"type": "record", "name": "User", "fields": [name, *fields]}


def values(registry: EmbeddedRegistry, topic: str, schema: Any, kind: str = "avro") -> Any:
    coder = getattr(Registry(registry.url, auto_register=True), kind)(schema)
    return coder.bound(Context(topic, "value"))


def set_compatibility(registry: EmbeddedRegistry, topic: str, level: str) -> None:
    url = urlsplit(registry.url)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=180)
    body = json.dumps({"compatibility": level})
    path = f"{url.path}/config/{quote(f'{topic}-value', safe='')}"
    connection.request("PUT", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == http.client.OK, answer.read()
    connection.close()


@pytest.mark.parametrize(
    ("level", "accepted", "refused"),
    [
        ("NONE", [record(), record(AGE), '"string"'], None),
        ("BACKWARD", [record(AGE), record()], record(AGE, {"name": "b", "type": "int"})),
        ("FORWARD", [record(), record(AGE)], {**record(), "fields": [AGE]}),
        ("FULL", [record(), record(AGE_OR)], record({"name": "b", "type": "int"})),
        ("BACKWARD_TRANSITIVE", [record(), record(AGE_OR)], record(AGE)),
        ("FORWARD_TRANSITIVE", [record(AGE), record(AGE_OR)], record()),
        ("FULL_TRANSITIVE", [record(), record(AGE_OR)], record(AGE)),
    ],
)
def test_every_compatibility_level_accepts_and_refuses(
    registry: EmbeddedRegistry,
    topic_name: str,
    level: str,
    accepted: list[Any],
    refused: Any,
) -> None:
    values(registry, topic_name, accepted[0]).writing()
    set_compatibility(registry, topic_name, level)
    for schema in accepted[1:]:
        values(registry, topic_name, schema).writing()
    if refused is not None:
        client = Registry(registry.url).client
        versions = client.versions(f"{topic_name}-value")
        with pytest.raises((EncodeError, RegistryError), match=r"incompatible|409"):
            values(registry, topic_name, refused).writing()
        assert client.versions(f"{topic_name}-value") == versions, "nothing was registered"


def test_records_with_a_wrong_schema_id_are_bad_records(
    registry: EmbeddedRegistry, topic_name: str
) -> None:
    coder = values(registry, topic_name, record())
    data = coder.encode({"name": "Alice"})
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            coder.decode(data[:end])
    with pytest.raises(DecodeError, match="has no schema 2147483000"):
        coder.decode(b"\x00" + (2_147_483_000).to_bytes(4, "big") + data[5:])
    other = values(registry, f"{topic_name}-other", '"int"')
    with pytest.raises(DecodeError, match="more bytes than"):
        other.decode(other.encode(1)[:5] + data[5:])


def test_a_record_that_is_nested_without_end_does_not_end_the_process(
    registry: EmbeddedRegistry, topic_name: str
) -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}],
    }
    coder = values(registry, topic_name, node)
    data = coder.encode({"next": {"next": None}})
    assert coder.decode(data) == {"next": {"next": None}}
    for reader in (coder, values(registry, topic_name, None)):
        with pytest.raises(DecodeError, match="RecursionError"):
            reader.decode(data[:5] + b"\x02" * 200_000 + b"\x00")
    long = values(registry, f"{topic_name}-long", TREE)
    value = {"text": "x" * 10_000, "children": [{"text": "y", "children": []}]}
    assert long.decode(long.encode(value)) == value, "a long record is read as well"


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("avro", TREE),
        ("json_schema", {"type": "object", "properties": {"text": {"type": "string"}}}),
        (
            "protobuf",
            'syntax = "proto3"; message Tree { string text = 1; repeated Tree children = 2; }',
        ),
    ],
    ids=["avro", "json-schema", "protobuf"],
)
def test_a_value_that_contains_itself_is_refused(
    registry: EmbeddedRegistry, topic_name: str, kind: str, schema: Any
) -> None:
    coder = values(registry, topic_name, schema, kind)
    around: dict[str, Any] = {"text": "x", "children": []}
    around["children"] += [around, around]
    deep: dict[str, Any] = {"text": "x", "children": []}
    for _ in range(20_000):
        deep = {"text": "x", "children": [deep]}
    for value in (around, deep):
        with pytest.raises(EncodeError, match=r"nested more than|recursion"):
            coder.encode(value)
    while deep["children"]:  # Python would free it level by level on the stack
        deep = deep["children"].pop()
    good = {"text": "x", "children": [{"text": "y", "children": []}]}
    assert coder.decode(coder.encode(good)) == good


EMPTY = {"type": "record", "name": "Empty", "fields": []}


@pytest.mark.parametrize(
    "items",
    ["null", EMPTY, *({"type": "fixed", "name": "F", "size": size} for size in (0, -1))],
    ids=["null", "record", "fixed", "negative"],
)
def test_an_array_of_nothing_is_refused(items: Any) -> None:
    with pytest.raises(ConfigError, match="no bytes"):
        Registry("http://localhost:1").avro({"type": "array", "items": items})


@pytest.mark.parametrize("kind", ["avro", "json_schema", "protobuf"])
@pytest.mark.parametrize("depth", [400, 100_000])
def test_a_schema_that_is_nested_deeply_is_used_or_refused(kind: str, depth: int) -> None:
    text = _nested(min(depth, 5_000) if kind == "protobuf" else depth)[kind]
    try:
        getattr(Registry("http://localhost:1"), kind)(text)
    except ConfigError as error:
        assert "cannot be used" in str(error)


def test_a_schema_that_refers_to_itself_without_end_is_used_or_refused() -> None:
    around = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    }
    coder = Registry("http://localhost:1").json_schema(around)
    assert coder._schema == Schema(json.dumps(around, separators=(",", ":")), "JSON")


def _nested(depth: int) -> dict[str, str]:
    return {
        "avro": '{"type":"array","items":' * depth + '"int"' + "}" * depth,
        "json_schema": '{"type":"object","properties":{"a":' * depth + "true" + "}}" * depth,
        "protobuf": 'syntax = "proto3";' + "message M {" * depth + "}" * depth,
    }


def _described(properties: dict[str, Any]) -> str:
    return json.dumps({"type": "object", "properties": properties})


def _hostile(kind: str) -> list[str]:
    """Schemas that another client registers: deep ones, large ones, and those without an end."""
    large = "x" * (2 << 20)
    others = {
        "avro": [json.dumps(record() | {"doc": large}), json.dumps(TREE)],
        "json_schema": [
            _described(
                {f"p{n}": {"type": "string", "description": "x" * 100} for n in range(14_000)}
            ),
            _described({"a": {"$ref": "#/properties/a"}}),
        ],
        "protobuf": [f'syntax = "proto3"; // {large}\nmessage M {{}}'],
    }
    return [*(_nested(depth)[kind] for depth in (90, 600)), *others[kind]]


@pytest.mark.parametrize("kind", ["avro", "json_schema", "protobuf"])
def test_hostile_schemas_of_a_registry_are_used_or_refused(
    registry: EmbeddedRegistry, topic_name: str, kind: str
) -> None:
    client = RegistryClient(RegistrySettings(url=registry.url, timeout_s=180))
    types = {"avro": "AVRO", "json_schema": "JSON", "protobuf": "PROTOBUF"}
    taken = 0
    for number, text in enumerate(_hostile(kind)):
        topic = f"{topic_name}-{number}"
        try:
            found = client.register(f"{topic}-value", Schema(text, types[kind]))
        except RegistryError as refused:
            assert "refused the request" in str(refused)
            continue
        taken += 1
        coder = values(registry, topic, None, kind)
        for body in (b"", b"\x00", b"\x00\x02a", b"{}", b"[[[1]]]"):
            with suppress(DecodeError):
                coder.decode(b"\x00" + found.id.to_bytes(4, "big") + body)
        coder.typed_column()
    assert taken >= 2, "the registry takes most of them"
    good = {
        "avro": json.dumps(record()),
        "json_schema": _described({"name": {"type": "string"}}),
        "protobuf": 'syntax = "proto3"; message M { string name = 1; }',
    }
    coder = values(registry, topic_name, good[kind], kind)
    assert coder.decode(coder.encode({"name": "x"})) == {"name": "x"}


def test_a_schema_with_references_that_are_missing_is_refused(
    registry: EmbeddedRegistry, topic_name: str
) -> None:
    team = {"type": "record", "name": "Team", "fields": [{"name": "lead", "type": "Nowhere"}]}
    with pytest.raises(ConfigError, match="Nowhere"):
        values(registry, topic_name, team)
    with pytest.raises(ConfigError, match=r"nowhere\.proto"):
        values(registry, topic_name, 'import "nowhere.proto"; message M {}', "protobuf")
