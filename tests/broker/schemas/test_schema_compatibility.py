"""Which schema may follow which, by the real registry: every mode, for every kind of schema.

A codec asks before it registers, so an incompatible schema writes nothing, and the error names the
mode. Under a transitive mode every version counts, under the others only the newest.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.registry.client import Schema
from lastword.errors import EncodeError
from lastword.registry_server.embedded_registry import EmbeddedRegistry

pytestmark = pytest.mark.broker

# The first look at a kind of schema takes a busy registry long.
WAIT_S = 180.0
MODES = ("BACKWARD", "FORWARD", "FULL", "NONE")
TRANSITIVE = ("BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE")
KINDS = {"avro": "AVRO", "json_schema": "JSON", "protobuf": "PROTOBUF"}


def avro(*fields: tuple[str, str, Any]) -> str:
    more = [{"name": name, "type": kind, "default": value} for name, kind, value in fields]
    name = {"name": "name", "type": "string"}
    return json.dumps({"type": "record", "name": "User", "fields": [name, *more]})


def document(**properties: str) -> str:
    members = {name: {"type": kind} for name, kind in properties.items()}
    return json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": members,
            "additionalProperties": False,
        }
    )


def proto(fields: str) -> str:
    return f'syntax = "proto3"; message User {{ {fields} }}'


REQUIRED = json.loads(avro(("age", "int", 0)))
del REQUIRED["fields"][1]["default"]
SCHEMAS: dict[str, dict[str, str]] = {
    "avro": {
        "base": avro(),
        "wider": json.dumps(REQUIRED),
        "number": avro(("age", "int", 0)),
        "text": avro(("age", "string", "")),
    },
    "json_schema": {
        "base": document(name="string"),
        "wider": document(name="string", age="integer"),
        "number": document(name="string", age="integer"),
        "text": document(name="string", age="string"),
    },
    "protobuf": {
        "base": proto("string name = 1;"),
        "wider": proto("string name = 1; int32 age = 2;"),
        "number": proto("string name = 1; int32 age = 2;"),
        "text": proto("string name = 1; string age = 2;"),
    },
}
# A new field: Avro readers of the old schema ignore it, those of the new one need a default. The
# others have defaults for everything, and this registry lets no closed document or message grow
# under a reader that does not know the field.
GROWS = {"avro": "FORWARD", "json_schema": "BACKWARD", "protobuf": "BACKWARD"}
SHRINKS = {"avro": "BACKWARD", "json_schema": "FORWARD", "protobuf": "FORWARD"}
VALUES = {
    "base": {"name": "a"},
    "wider": {"name": "a", "age": 1},
    "text": {"name": "a", "age": "1"},
}


class Subject:
    """The subject of a topic's values in the real registry."""

    def __init__(self, registry: EmbeddedRegistry, topic: str, kind: str) -> None:
        schemas = Registry(registry.url, auto_register=True)
        schemas.settings = replace(schemas.settings, timeout_s=WAIT_S)
        self._client = schemas.client
        self._name = f"{topic}-value"
        self._kind = kind
        self._codecs = getattr(schemas, kind)
        self._context = Context(topic, "value")

    def given(self, mode: str, *names: str) -> Subject:
        """With these versions, and from then on with that mode."""
        self._client.set_compatibility(self._name, "NONE")
        for name in names:
            schema = Schema(SCHEMAS[self._kind][name], KINDS[self._kind])
            self._client.register(self._name, schema)
        self._client.set_compatibility(self._name, mode)
        return self

    def write(self, name: str) -> bytes:
        """A value of the schema, which is registered for it."""
        made = self._codecs(SCHEMAS[self._kind][name]).bound(self._context)
        return made.encode(VALUES[name])  # type: ignore[no-any-return]

    @property
    def versions(self) -> int:
        return len(self._client.versions(self._name))


def accepts(subject: Subject, name: str, mode: str) -> bool:
    """Whether the schema writes; if not, nothing is registered and the error names the mode."""
    before = subject.versions
    try:
        subject.write(name)
    except EncodeError as error:
        assert f"{mode} compatibility is required" in str(error)
        assert subject.versions == before
        return False
    assert subject.versions == before + 1
    return True


@pytest.mark.parametrize("mode", MODES + TRANSITIVE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_field_more_and_a_field_less(
    registry: EmbeddedRegistry, topic_name: str, kind: str, mode: str
) -> None:
    direction = mode.removesuffix("_TRANSITIVE")
    grown = Subject(registry, f"{topic_name}-more", kind).given(mode, "base")
    assert accepts(grown, "wider", mode) == (direction in (GROWS[kind], "NONE"))
    shrunk = Subject(registry, f"{topic_name}-less", kind).given(mode, "wider")
    assert accepts(shrunk, "base", mode) == (direction in (SHRINKS[kind], "NONE"))


@pytest.mark.parametrize("mode", ["BACKWARD", "BACKWARD_TRANSITIVE"])
@pytest.mark.parametrize("kind", KINDS)
def test_only_a_transitive_mode_looks_at_older_versions(
    registry: EmbeddedRegistry, topic_name: str, kind: str, mode: str
) -> None:
    subject = Subject(registry, topic_name, kind).given(mode, "number", "base")
    assert accepts(subject, "text", mode) == (mode == "BACKWARD")
