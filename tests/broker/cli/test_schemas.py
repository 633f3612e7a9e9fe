"""Commands on a table whose values have a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from tests.broker.cli.conftest import Lastword

pytestmark = pytest.mark.broker

USER = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": "int", "default": -1},
    ],
}


@pytest.fixture
def topic(lastword: Lastword, topic_name: str) -> str:
    lastword.ok("topic", "create", topic_name, "--partitions", "1")
    return topic_name


def test_commands_read_and_write_with_the_registry_that_the_settings_name(
    lastword: Lastword, registry: EmbeddedRegistry, topic: str
) -> None:
    coder = Registry(registry.url, auto_register=True).avro(USER)
    coder.bound(Context(topic, "value")).writing()
    lastword.environ["LASTWORD_REGISTRY_URL"] = registry.url
    lastword.ok("describe", topic, "--value-codec", "avro", "--save")
    lastword.ok("put", topic, "user-1", '{"name": "Alice", "age": 3}')
    assert lastword.ok("get", topic, "user-1") == '{"name":"Alice","age":3}\n'
    refused = lastword("put", topic, "user-1", '{"nom": "Alice"}')
    assert refused.exit_code == 2
    assert "no field 'nom'" in refused.stderr
    lastword.environ["LASTWORD_REGISTRY_ID_IN"] = "header"
    lastword.ok("put", topic, "user-1", '{"name": "Alice", "age": 4}')
    (record,) = lastword.json("get", topic, "user-1")
    assert record["value"] == {"name": "Alice", "age": 4}
    assert [name for name, _ in record["headers"]] == ["__value_schema_id"]
    lastword.environ["LASTWORD_REGISTRY_ID_IN"] = "trailer"
    assert "payload, header" in lastword("get", topic, "user-1").stderr


def test_commands_write_protobuf_from_json(
    lastword: Lastword, registry: EmbeddedRegistry, topic: str
) -> None:
    text = 'syntax = "proto3"; message User { string name = 1; bytes raw = 2; }'
    coder = Registry(registry.url, auto_register=True).protobuf(text)
    coder.bound(Context(topic, "value")).writing()
    lastword.environ["LASTWORD_REGISTRY_URL"] = registry.url
    lastword.ok("put", topic, "u", '{"name": "A", "raw": "AP8="}', "--value-codec", "protobuf")
    shown = lastword.ok("get", topic, "u", "--value-codec", "protobuf")
    assert shown == '{"name":"A","raw":"AP8="}\n'
    refused = lastword("put", topic, "u", '{"nom": "A"}', "--value-codec", "protobuf")
    assert "no field 'nom'" in refused.stderr


def test_values_with_a_schema_need_a_registry(lastword: Lastword, topic: str) -> None:
    answer = lastword("get", topic, "user-1", "--value-codec", "avro")
    assert answer.exit_code == 2
    assert "registry.url" in answer.stderr


def test_a_hint_stays_where_the_catalog_has_its_own(
    lastword: Lastword, registry: EmbeddedRegistry, topic_name: str
) -> None:
    lastword.ok("topic", "create", topic_name, "--value-codec", "avro")
    answer = lastword("get", topic_name, "user-1")
    assert "registry.url" in answer.stderr
    assert "the catalog says" in answer.stderr
    lastword.environ["LASTWORD_REGISTRY_URL"] = registry.url
    refused = lastword("put", topic_name, "user-1", "{}")
    assert f"lastword schema register {topic_name}-value" in refused.stderr


def test_the_catalog_has_a_subject_that_the_topic_does_not_name(
    lastword: Lastword, registry: EmbeddedRegistry, topic: str
) -> None:
    subject = f"people.{topic.replace('-', '_')}"
    schema = {**USER, "name": subject}
    record = Registry(registry.url, auto_register=True, subject="record").avro(schema)
    record.bound(Context(topic, "value")).writing()
    lastword.environ["LASTWORD_REGISTRY_URL"] = registry.url
    lastword.ok("describe", topic, "--value-codec", "avro", "--subject", subject, "--save")
    lastword.ok("put", topic, "user-1", '{"name": "Alice"}')
    assert lastword.ok("get", topic, "user-1") == '{"name":"Alice","age":-1}\n'
    assert lastword.json("schema", "check", topic)[0]["version"] == 1
    (shown,) = lastword.json("describe", topic)
    assert (shown["schema_subject"], shown["by_catalog"]) == (subject, "key, subject, value")
    # Another codec has another subject.
    lastword.ok("describe", topic, "--value-codec", "json", "--save")
    lastword.ok("describe", topic, "--value-codec", "avro", "--save")
    assert subject not in lastword.ok("describe", topic)


def test_commands_know_the_subject_of_keys_and_the_message_of_values(
    lastword: Lastword, registry: EmbeddedRegistry, topic: str, tmp_path: Path
) -> None:
    schemas = Registry(registry.url, auto_register=True)
    subject = f"ids.{topic.replace('-', '_')}"
    key: dict[str, Any] = {
        "type": "record",
        "name": subject,
        "fields": [{"name": "id", "type": "int"}],
    }
    schemas.avro(key, subject="record").bound(Context(topic, "key")).writing()
    text = 'syntax = "proto3"; message A { string a = 1; } message B { string b = 1; }'
    coder = schemas.protobuf(text, message="B").bound(Context(topic, "value"))
    coder.writing()
    lastword.environ["LASTWORD_REGISTRY_URL"] = registry.url
    options = ("--key-subject", subject, "--message", "B", "--save")
    codecs = ("--key-codec", "avro", "--value-codec", "protobuf")
    (shown,) = lastword.json("describe", topic, *codecs, *options)
    assert (shown["key_subject"], shown["message"]) == (subject, "B")
    lastword.ok("put", topic, '{"id": 1}', '{"b": "x"}')
    assert lastword.ok("get", topic, '{"id": 1}') == '{"b":"x"}\n'
    assert lastword("put", topic, '{"id": 1}', '{"a": "x"}').exit_code == 2

    file = tmp_path / "key.avsc"
    more = {"name": "region", "type": "string", "default": "eu"}
    file.write_text(json.dumps(key | {"fields": [*key["fields"], more]}))
    known = lastword("schema", "register", subject, str(file))
    assert known.exit_code == 0
    assert "may be in other partitions" in known.stderr
    other = lastword("schema", "register", f"{topic}-value", str(file), "--dry-run")
    assert "may be in other partitions" not in other.stderr
