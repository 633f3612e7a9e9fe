"""The codec contract over the codecs of a real schema registry."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, ClassVar

import pytest

from lastword.codecs import Codec
from lastword.codecs.registry import Registry
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.testing.codec_contract import CodecContract, KeyCodecContract

pytestmark = pytest.mark.broker

EVENT = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": ["null", "int"], "default": None},
        {"name": "data", "type": "bytes", "default": ""},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "tags", "type": {"type": "map", "values": "double"}},
        {"name": "children", "type": {"type": "array", "items": "Event"}},
    ],
}
NOON = datetime.datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=datetime.UTC)


def event(name: str, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "age": None,
        "data": b"\x00\xff",
        "at": NOON,
        "day": datetime.date(2026, 1, 2),
        "id": uuid.UUID(int=7),
        "price": decimal.Decimal("12.50"),
        "kind": "A",
        "tags": {"x": 1.5},
        "children": list(children),
    } | more


class OfRegistry:
    """Codecs that find the registry of the test run."""

    url: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _registry(self, registry: EmbeddedRegistry) -> None:
        type(self).url = registry.url

    def registry(self) -> Registry:
        return Registry(self.url, auto_register=True)


class TestAvro(OfRegistry, CodecContract):
    topic = "contract-avro"
    values = (event("a"), event("\u00e9", event("b", age=3)), event("", kind="B"))
    foreign = (None, "text", {"name": 1}, {"name": "a"})

    def make_codec(self) -> Codec[Any]:
        return self.registry().avro(EVENT)


class TestAvroKeys(OfRegistry, KeyCodecContract):
    topic = "contract-avro-keys"
    values = ({"region": "eu", "user": 1}, {"region": "", "user": -1})
    foreign = (None, {"region": "eu"})

    def make_codec(self) -> Codec[Any]:
        fields = [{"name": "region", "type": "string"}, {"name": "user", "type": "long"}]
        return self.registry().avro({"type": "record", "name": "Key", "fields": fields})


PROTO = """
syntax = "proto3";
package lastword.contract;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

enum Kind { KIND_A = 0; KIND_B = 1; }
message Event {
  string name = 1;
  optional int32 age = 2;
  bytes data = 3;
  google.protobuf.Timestamp at = 4;
  Kind kind = 5;
  map<string, double> tags = 6;
  map<int64, Event> by_number = 7;
  repeated Event children = 8;
  oneof contact { string mail = 9; int64 phone = 10; }
  repeated sint32 counts = 11;
  google.protobuf.StringValue nick = 12;
  message Inner { uint64 big = 1; }
  Inner inner = 13;
  reserved 20 to 30;
}
"""


def message(name: str, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "data": b"\x00\xff",
        "kind": "KIND_A",
        "tags": {"x": 1.5},
        "by_number": {},
        "children": list(children),
        "counts": [-1, 0, 7],
    } | more


class TestProtobuf(OfRegistry, CodecContract):
    topic = "contract-protobuf"
    values = (
        message("a"),
        message("\u00e9", message("b", age=0), at=NOON, inner={"big": 2**64 - 1}),
        message("", kind="KIND_B", mail="a@b", nick={"value": ""}, by_number={-3: message("c")}),
    )
    foreign = (None, "text", {"name": 1}, {"nom": "a"}, {"kind": "KIND_C"}, {"age": 2**31})

    def make_codec(self) -> Codec[Any]:
        return self.registry().protobuf(PROTO)


class TestProtobufKeys(OfRegistry, KeyCodecContract):
    topic = "contract-protobuf-keys"
    values = ({"region": "eu", "user": 1}, {"region": "", "user": -1})
    foreign = (None, {"zone": "eu"})

    def make_codec(self) -> Codec[Any]:
        text = (
            "message Other {} message Key { required string region = 1; required int64 user = 2; }"
        )
        return self.registry().protobuf(text, message="Key")


class TestJsonSchema(OfRegistry, KeyCodecContract):
    topic = "contract-json-schema"
    values = ({"a": 1}, {"a": 2, "b": ["x", None]})
    foreign = (None, {"a": "text"}, {}, object())

    def make_codec(self) -> Codec[Any]:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        return self.registry().json_schema(schema)
