"""``lastword schema``: schemas of a registry, and the versions that live keys hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.kafka.connection import Connection
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.table.table import Table
from tests.broker.cli.conftest import Lastword

pytestmark = pytest.mark.broker

CLASS = """
import msgspec
from lastword.codecs import upgrade

class Profile(msgspec.Struct):
    name: str
    age: int = 0

    @upgrade(from_version=1)
    def _name(old):
        return {"name": old["nom"]}
"""


def user(*fields: dict[str, Any]) -> dict[str, Any]:
    name = {"name": "name", "type": "string"}
    return {"type": "record", "name": "User", "fields": [name, *fields]}


V1 = user()
V2 = user({"name": "age", "type": "int", "default": -1})


@pytest.fixture
def topic(lastword: Lastword, registry: EmbeddedRegistry, topic_name: str) -> str:
    lastword.environ["LASTWORD_REGISTRY_URL"] = registry.url
    lastword.ok("topic", "create", topic_name, "--partitions", "1")
    return topic_name


def test_schemas_are_registered_listed_shown_and_compared(
    lastword: Lastword, topic: str, tmp_path: Path
) -> None:
    subject = f"{topic}-value"
    (tmp_path / "v1.avsc").write_text(json.dumps(V1))
    (tmp_path / "v2.avsc").write_text(json.dumps(V2))
    (tmp_path / "bad.avsc").write_text(json.dumps(user({"name": "size", "type": "int"})))
    lastword.ok("schema", "register", subject, str(tmp_path / "v1.avsc"))
    would = lastword.json("schema", "register", subject, str(tmp_path / "v2.avsc"), "--dry-run")
    assert would[0]["schema_id"] is None
    refused = lastword("schema", "register", subject, str(tmp_path / "bad.avsc"))
    assert refused.exit_code == 2
    assert "incompatible" in refused.stderr
    (made,) = lastword.json("schema", "register", subject, str(tmp_path / "v2.avsc"))
    (listed,) = [each for each in lastword.json("schema", "list") if each["subject"] == subject]
    assert listed == {
        "subject": subject,
        "kind": "AVRO",
        "newest": 2,
        "schema_id": made["schema_id"],
    }
    assert json.loads(lastword.ok("schema", "show", subject, "--version", "1")) == V1
    changed = lastword.ok("schema", "diff", subject)
    assert '+      "name": "age"' in changed
    assert lastword.json("schema", "diff", subject, "2", "2")[0]["lines"] == []
    unknown = lastword("schema", "show", f"{topic}-nothing")
    assert (unknown.exit_code, "schema list" in unknown.stderr) == (2, True)
    (tmp_path / "what.txt").write_text("x")
    assert "--kind" in lastword("schema", "register", subject, str(tmp_path / "what.txt")).stderr


def test_a_new_schema_of_keys_is_announced_with_a_warning(
    lastword: Lastword, topic: str, tmp_path: Path
) -> None:
    subject, first, second = f"{topic}-key", tmp_path / "v1.avsc", tmp_path / "v2.avsc"
    first.write_text(json.dumps(V1))
    second.write_text(json.dumps(V2))
    assert not lastword("schema", "register", subject, str(first)).stderr
    assert not lastword("schema", "register", subject, str(first)).stderr
    asked = lastword("schema", "register", subject, str(second), "--dry-run")
    assert "other partitions" in asked.stderr
    assert "other partitions" in lastword("schema", "register", subject, str(second)).stderr
    assert not lastword("schema", "register", f"{topic}-value", str(first)).stderr
    assert not lastword("schema", "register", f"{topic}-value", str(second)).stderr


def test_a_schema_is_registered_with_its_references(
    lastword: Lastword, topic: str, tmp_path: Path
) -> None:
    address = {"type": "record", "name": f"Address{topic.replace('-', '_')}", "fields": []}
    (tmp_path / "address.avsc").write_text(json.dumps(address))
    lives = {"name": "lives", "type": address["name"]}
    (tmp_path / "user.avsc").write_text(json.dumps(user(lives)))
    register = ("schema", "register", f"{topic}-value", str(tmp_path / "user.avsc"))
    lastword.ok("schema", "register", f"{topic}-address", str(tmp_path / "address.avsc"))
    reference = f"{address['name']}={topic}-address:1"
    lastword.ok(*register, "--reference", reference)
    (shown,) = lastword.json("schema", "show", f"{topic}-value")
    assert [each["subject"] for each in shown["references"]] == [f"{topic}-address"]
    lastword.ok("put", topic, "u", '{"name":"A","lives":{}}', "--value-codec", "avro")
    wrong = lastword(*register, "--reference", "Address")
    assert (wrong.exit_code, "NAME=SUBJECT:VERSION" in wrong.stderr) == (2, True)


def test_old_versions_are_counted_and_rewritten_with_their_timestamps_and_headers(
    lastword: Lastword, registry: EmbeddedRegistry, topic: str, connection: Connection
) -> None:
    schemas = Registry(registry.url, auto_register=True)
    with Table(topic, connection=connection, value=schemas.avro(V1)) as users:
        users.put("old-1", {"name": "A"}, headers=(("h", b"x"),), timestamp_ms=1_700_000_000_000)
        users.put("old-2", {"name": "B"}, ttl="1h")
        users.raw.put(b"bad", b"not avro")
    with Table(topic, connection=connection, value=schemas.avro(V2), name="new") as users:
        users.put("new-1", {"name": "C", "age": 3})
    codec = ("--value-codec", "avro")
    found = lastword.json("schema", "check", topic, *codec)
    assert [(each["version"], each["keys"], each["newest"]) for each in found] == [
        (None, 1, False),
        (1, 2, False),
        (2, 1, True),
    ]
    assert lastword.ok("schema", "check", topic, "--version", "1", *codec) == "old-1\nold-2\n"
    (dry,) = [
        json.loads(lastword("schema", "rewrite", topic, "--dry-run", "--json", *codec).stdout)
    ]
    assert (dry["written"], dry["current"], dry["failed"]) == (2, 1, 1)
    done = lastword("schema", "rewrite", topic, *codec)
    assert done.exit_code == 1, "one value cannot be read"
    assert "can be lost" in done.stderr
    assert "bad: the first byte" in done.stderr
    found = lastword.json("schema", "check", topic, *codec)
    assert [(each["version"], each["keys"]) for each in found] == [(None, 1), (2, 3)]
    (first,) = lastword.json("get", topic, "old-1", *codec)
    assert first["value"] == {"name": "A", "age": -1}
    assert first["timestamp"] == 1_700_000_000_000
    assert [name for name, _ in first["headers"]] == ["h"]
    (second,) = lastword.json("get", topic, "old-2", *codec)
    assert second["expires_at"] is not None


def test_values_of_a_class_are_rewritten_by_its_steps(
    lastword: Lastword, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "people_of_this_test.py").write_text(CLASS)
    lastword.ok("put", topic, "u", '{"nom": "A"}')
    refused = lastword("schema", "rewrite", topic)
    assert "--type" in refused.stderr
    assert "--type" in lastword("schema", "check", topic).stderr
    assert not lastword("schema", "check", topic, "--type", "people_of_this_test:Profile").stderr
    of_class = ("--type", "people_of_this_test:Profile")
    assert lastword.json("schema", "check", topic, *of_class)[0]["version"] == 1
    assert lastword.json("schema", "rewrite", topic, *of_class)[0]["written"] == 1
    assert lastword.json("schema", "check", topic)[0]["version"] == 2
    assert lastword.json("get", topic, "u")[0]["value"] == {"$version": 2, "name": "A", "age": 0}
    wrong = lastword("schema", "check", topic, "--type", "people_of_this_test:CLASS")
    assert "not a class of values" in wrong.stderr
    assert (
        "no schema version" in lastword("schema", "check", topic, "--value-codec", "int64").stderr
    )


def test_protobuf_values_are_rewritten_as_their_own_message(
    lastword: Lastword, registry: EmbeddedRegistry, topic: str, connection: Connection
) -> None:
    text = 'syntax = "proto3"; message A { string a = 1; %s } message B { string b = 1; }'
    schemas = Registry(registry.url, auto_register=True)
    for message in ("A", "B"):
        coder = schemas.protobuf(text % "", message=message)
        with Table(topic, connection=connection, value=coder, name=message) as table:
            table.put(message, {message.lower(): "x"})
    schemas.protobuf(text % "int32 n = 2;").bound(Context(topic, "value")).writing()
    codec = ("--value-codec", "protobuf")
    assert lastword.json("schema", "rewrite", topic, *codec)[0]["written"] == 2
    assert lastword.json("get", topic, "A", *codec)[0]["value"] == {"a": "x", "n": 0}
    assert lastword.json("get", topic, "B", *codec)[0]["value"] == {"b": "x"}
    assert lastword.json("schema", "check", topic, *codec)[0]["version"] == 2
