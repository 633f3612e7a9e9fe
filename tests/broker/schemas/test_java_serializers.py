"""The same values, written and read by Lastword and by Apicurio's Java serializers.

kcat is no third reader here: Debian builds it without Avro. Its package (1.7.1-2) needs neither
libserdes nor libavro.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.registry.proto_file import ProtoFile
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from tests.support.java_peers.java_serdes import Answer, Case, JavaSerdes

pytestmark = pytest.mark.broker

AVRO = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "people",
        "fields": [
            {"name": "name", "type": "string"},
            {"name": "age", "type": "int"},
            {"name": "visits", "type": "long"},
            {"name": "score", "type": "double"},
            {"name": "city", "type": ["null", "string"]},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "tags", "type": {"type": "map", "values": "boolean"}},
            {"name": "friends", "type": {"type": "array", "items": "string"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
)
JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"age": {"type": "integer"}, "name": {"type": "string"}},
        "required": ["name"],
    }
)
PROTO = """
syntax = "proto3";
package people;
message Profile {
  string name = 1;
  int32 age = 2;
  repeated sint64 visits = 3;
  map<string, double> scores = 4;
  message Inner { bool on = 1; }
  Inner inner = 5;
}
message Address { string street = 1; bytes hash = 2; }
"""


class Sample(NamedTuple):
    """A value of Lastword, and how it looks in Java's JSON."""

    kind: str
    schema: str
    value: Any
    shown: Any
    message: str = ""


USER = {
    "name": "Zo\u00eb \u4e16",
    "age": -7,
    "visits": 2**62,
    "score": 0.1,
    "city": "Paris",
    "kind": "B",
    "tags": {"x": True},
    "friends": ["", "Ada"],
    "at": 1_767_323_045_678,
}
PROFILE = {
    "name": "Zo\u00eb \u4e16",
    "age": -7,
    "visits": [-1, 2**40],
    "scores": {"x": 0.1},
    "inner": {"on": True},
}
SAMPLES = {
    "avro": Sample("avro", AVRO, USER, {**USER, "city": {"string": "Paris"}}),
    "avro-null": Sample("avro", AVRO, {**USER, "city": None}, {**USER, "city": None}),
    "json": Sample(
        "json_schema",
        JSON,
        {"age": 3, "more": [1.5, None, {"a": "\u00e9"}], "name": "Zo\u00eb"},
        {"age": 3, "more": [1.5, None, {"a": "\u00e9"}], "name": "Zo\u00eb"},
    ),
    "first-message": Sample(
        "protobuf", PROTO, PROFILE, {**PROFILE, "visits": ["-1", str(2**40)]}, "Profile"
    ),
    "second-message": Sample(
        "protobuf",
        PROTO,
        {"street": "Main", "hash": b"\x00\xff"},
        {"street": "Main", "hash": "AP8="},
        "Address",
    ),
}


class Lab:
    """Every sample, written here and by one JVM."""

    def __init__(self, java: JavaSerdes, registry: EmbeddedRegistry) -> None:
        self._registry = Registry(registry.url, auto_register=True)
        self.written = {name: self.codec(name).encode(each.value) for name, each in SAMPLES.items()}
        cases = [self._case(name, sample) for name, sample in SAMPLES.items()]
        self.answers: dict[str, Answer] = dict(zip(SAMPLES, java.run(cases), strict=True))

    def codec(self, name: str) -> Any:
        sample = SAMPLES[name]
        rules = {"message": sample.message} if sample.message else {}
        made = getattr(self._registry, sample.kind)(sample.schema, **rules)
        return made.bound(Context(_topic(name), "value"))

    def _case(self, name: str, sample: Sample) -> Case:
        descriptor = b""
        if sample.kind == "protobuf":
            message = ProtoFile(sample.schema, {}).named(sample.message)
            descriptor = message.type.DESCRIPTOR.file.serialized_pb
        return Case(
            sample.kind,
            _topic(name),
            sample.shown,
            self.written[name],
            sample.schema,
            descriptor,
            sample.message,
        )


def _topic(name: str) -> str:
    return f"java-serializers-{name}"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, registry: EmbeddedRegistry) -> Lab:
    return Lab(JavaSerdes(tmp_path_factory.mktemp("classes"), registry), registry)


@pytest.mark.parametrize("name", [each for each in SAMPLES if each != "first-message"])
def test_java_writes_the_same_bytes(lab: Lab, name: str) -> None:
    assert lab.answers[name].data == lab.written[name]


def test_java_writes_the_path_to_the_first_message_in_full(lab: Lab) -> None:
    """Confluent's clients write one byte for it, and read both."""
    ours = lab.written["first-message"]
    assert ours[5:6] == b"\x00"
    assert lab.answers["first-message"].data == ours[:5] + b"\x02\x00" + ours[6:]


@pytest.mark.parametrize("name", SAMPLES)
def test_java_reads_what_lastword_wrote(lab: Lab, name: str) -> None:
    assert lab.answers[name].value == SAMPLES[name].shown


@pytest.mark.parametrize("name", SAMPLES)
def test_lastword_reads_what_java_wrote(lab: Lab, name: str) -> None:
    codec = lab.codec(name)
    assert codec.decode(lab.answers[name].data) == codec.decode(lab.written[name])
