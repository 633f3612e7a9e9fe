"""Tables of a real schema registry: evolution, refusals, references, a registry that is down."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.codecs import upgrade
from lastword.codecs.base import Context
from lastword.codecs.columns.type_tree import StructType
from lastword.codecs.registry import Registry
from lastword.codecs.registry.client import Reference, RegistryClient, RegistrySettings, Schema
from lastword.codecs.registry.json_schema import JsonSchemaCodec
from lastword.codecs.resolve import codec
from lastword.errors import ConfigError, DecodeError, EncodeError, RegistryError
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.table.table import Table
from lastword.topics.creation import create_topic

pytestmark = pytest.mark.broker


def user(*fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "User",
        "fields": [{"name": "name", "type": "string"}, *fields],
    }


AGE = '{"$schema":"http://json-schema.org/draft-07/schema#","type":"integer"}'
V1 = user()
V2 = user({"name": "age", "type": "int", "default": -1})
INCOMPATIBLE = user({"name": "age", "type": "int"})


@pytest.fixture
def connection(broker: EmbeddedBroker) -> Connection:
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def topic(connection: Connection, topic_name: str) -> str:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=1)
    return topic_name


@pytest.fixture
def schemas(registry: EmbeddedRegistry) -> Registry:
    return Registry(registry.url, auto_register=True)


def avro(schemas: Registry, topic: str, schema: Any = None, **rules: Any) -> Any:
    return schemas.avro(schema, **rules).bound(Context(topic, "value"))


def test_records_of_two_versions_are_read_as_either(
    connection: Connection, topic: str, schemas: Registry
) -> None:
    with Table(topic, connection=connection, value=schemas.avro(V1)) as old:
        old.put("user-1", {"name": "Alice"})
        with Table(topic, connection=connection, value=schemas.avro(V2), name="new") as new:
            new.put("user-2", {"name": "Bob", "age": 7})
            assert new["user-1"] == {"name": "Alice", "age": -1}
            assert new["user-2"] == {"name": "Bob", "age": 7}
            assert old.query.get("user-2", at_least=new.query.count().position).value.value == {
                "name": "Bob"
            }


def test_the_wire_format_is_confluents(schemas: Registry, topic_name: str) -> None:
    coder = avro(schemas, topic_name, V1)
    data = coder.encode({"name": "\u00e9"})
    schema_id = coder.writing().schema_id
    assert data == b"\x00" + schema_id.to_bytes(4, "big") + b"\x04\xc3\xa9"


def test_a_schema_that_is_not_registered_does_not_write(
    registry: EmbeddedRegistry, topic_name: str
) -> None:
    strict = Registry(registry.url)
    with pytest.raises(EncodeError, match=f"not registered under {topic_name}-value"):
        avro(strict, topic_name, V1).encode({"name": "Alice"})
    with pytest.raises(EncodeError, match="no subject"):
        avro(strict, topic_name).encode({"name": "Alice"})


def test_an_incompatible_schema_is_refused_before_it_writes(
    schemas: Registry, topic_name: str
) -> None:
    avro(schemas, topic_name, V1).encode({"name": "Alice"})
    with pytest.raises(EncodeError, match="incompatible"):
        avro(schemas, topic_name, INCOMPATIBLE).encode({"name": "Alice", "age": 1})


def test_a_new_schema_for_keys_is_registered_with_a_warning(
    schemas: Registry, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = (schemas.avro(each).bound(Context(topic_name, "key")) for each in (V1, V2))
    before = old.encode({"name": "a"})
    assert "each key contains" not in caplog.text, "the first schema moves no key"
    after = new.encode({"name": "a", "age": -1})
    assert before[:5] != after[:5]
    assert f"{topic_name}-key: each key contains the id of its schema" in caplog.text


def test_subjects_follow_the_strategy(schemas: Registry, topic_name: str) -> None:
    assert avro(schemas, topic_name, V1).subject == f"{topic_name}-value"
    assert avro(schemas, topic_name, V1, subject="record").subject == "User"
    assert avro(schemas, topic_name, V1, subject="topic-record").subject == f"{topic_name}-User"


def test_a_schema_may_refer_to_another(
    registry: EmbeddedRegistry, schemas: Registry, topic_name: str
) -> None:
    client = RegistryClient(RegistrySettings(url=registry.url))
    client.register(f"{topic_name}-user", Schema(_json(V1)))
    team = {
        "type": "record",
        "name": "Team",
        "fields": [{"name": "lead", "type": "User"}],
    }
    references = (Reference("User", f"{topic_name}-user", 1),)
    client.register(f"{topic_name}-value", Schema(_json(team), "AVRO", references))
    coder = avro(schemas, topic_name)
    value = {"lead": {"name": "Alice"}}
    assert coder.decode(coder.encode(value)) == value


def test_a_json_schema_may_refer_to_another_and_to_nothing_else(
    registry: EmbeddedRegistry, schemas: Registry, topic_name: str
) -> None:
    client = RegistryClient(RegistrySettings(url=registry.url))
    client.register(f"{topic_name}-age", Schema(AGE, "JSON"))
    whole = {"type": "object", "properties": {"age": {"$ref": "age.json"}}}
    references = (Reference("age.json", f"{topic_name}-age", 1),)
    client.register(f"{topic_name}-value", Schema(_json(whole), "JSON", references))
    coder = schemas.json_schema().bound(Context(topic_name, "value"))
    assert coder.decode(coder.encode({"age": 3})) == {"age": 3}
    with pytest.raises(EncodeError, match="integer"):
        coder.encode({"age": "old"})
    foreign = {"$ref": "http://127.0.0.1:1/schema.json"}
    with pytest.raises(ValueError, match="not among its references"):
        JsonSchemaCodec._parsed(coder, Schema(_json(foreign), "JSON"), {})


PROFILE = 'syntax = "proto3"; package people; message Profile { string name = 1; %s }'


def protobuf(schemas: Registry, topic: str, schema: Any = None, **rules: Any) -> Any:
    return schemas.protobuf(schema, **rules).bound(Context(topic, "value"))


def test_protobuf_records_of_two_versions_are_read_as_either(
    schemas: Registry, topic_name: str
) -> None:
    old = protobuf(schemas, topic_name, PROFILE % "")
    new = protobuf(schemas, topic_name, PROFILE % "int32 age = 2;")
    first, second = old.encode({"name": "A"}), new.encode({"name": "B", "age": 7})
    assert [new.decode(each) for each in (first, second)] == [
        {"name": "A", "age": 0},
        {"name": "B", "age": 7},
    ]
    assert [old.decode(each) for each in (first, second)] == [{"name": "A"}, {"name": "B"}]
    as_written = protobuf(schemas, topic_name)
    assert as_written.decode(first) == {"name": "A"}
    assert as_written.decode(second) == {"name": "B", "age": 7}


def test_the_wire_format_of_protobuf_has_the_path_to_the_message(
    schemas: Registry, topic_name: str
) -> None:
    text = (PROFILE % "message Inner { string x = 1; }") + " message Second { string y = 1; }"
    for message, path, value in (
        (None, b"\x00", {"name": "v"}),
        ("Second", b"\x02\x02", {"y": "v"}),
        ("people.Profile.Inner", b"\x04\x00\x00", {"x": "v"}),
    ):
        coder = protobuf(schemas, topic_name, text, message=message)
        data = coder.encode(value)
        schema_id = coder.writing().schema_id.to_bytes(4, "big")
        assert data == b"\x00" + schema_id + path + b"\x0a\x01v"
        assert protobuf(schemas, topic_name).decode(data) == value


def test_subjects_of_protobuf_follow_the_strategy(schemas: Registry, topic_name: str) -> None:
    text = PROFILE % "message Inner {}"
    record = protobuf(schemas, topic_name, text, subject="record")
    assert record.subject == "people.Profile"
    both = protobuf(schemas, topic_name, text, subject="topic-record", message="Inner")
    assert both.subject == f"{topic_name}-people.Profile.Inner"


def test_a_protobuf_schema_may_import_another(
    registry: EmbeddedRegistry, schemas: Registry, topic_name: str
) -> None:
    client = RegistryClient(RegistrySettings(url=registry.url))
    client.register(f"{topic_name}-profile", Schema(PROFILE % "", "PROTOBUF"))
    text = 'syntax = "proto3"; import "profile.proto"; message Team { people.Profile lead = 1; }'
    references = (Reference("profile.proto", f"{topic_name}-profile", 1),)
    coder = protobuf(schemas, topic_name, Schema(text, "PROTOBUF", references))
    value = {"lead": {"name": "Alice"}}
    data = coder.encode(value)
    assert coder.decode(data) == value
    assert protobuf(schemas, topic_name).decode(data) == value


def test_a_schema_with_references_is_given_with_its_kind(schemas: Registry) -> None:
    with pytest.raises(ConfigError, match="is AVRO, and the codec protobuf"):
        schemas.protobuf(Schema('"string"'))


def test_a_truncated_protobuf_record_is_a_bad_record(schemas: Registry, topic_name: str) -> None:
    coder = protobuf(schemas, topic_name, PROFILE % "")
    data = coder.encode({"name": "Alice"})
    for end in range(len(data) - 1, 4, -1):
        if end == 6:
            assert coder.decode(data[:end]) == {"name": ""}, "an empty message is a message"
            continue
        with pytest.raises(DecodeError):
            coder.decode(data[:end])


class PersonV1(msgspec.Struct):
    name: str


class PersonV2(msgspec.Struct):
    name: str
    age: int = -1
    kind: str = "old"

    @upgrade(from_version=1)
    def _shout(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {**old, "name": old["name"].upper(), "kind": "upgraded"}


def test_a_class_is_registered_as_a_json_schema_and_its_old_versions_are_upgraded(
    schemas: Registry, topic_name: str
) -> None:
    old = schemas.json_schema(PersonV1).bound(Context(topic_name, "value"))
    new = schemas.json_schema(PersonV2).bound(Context(topic_name, "value"))
    first, second = old.encode(PersonV1("Ada")), new.encode(PersonV2("Bob", 7, "new"))
    assert new.decode(first) == PersonV2("ADA", -1, "upgraded")
    assert new.decode(second) == PersonV2("Bob", 7, "new")
    assert old.decode(second) == PersonV1("Bob")
    arrived = pickle.loads(pickle.dumps(new))  # noqa: S301
    assert arrived.decode(first) == PersonV2("ADA", -1, "upgraded")
    assert new.to_json(first) == b'{"name":"ADA","age":-1,"kind":"upgraded"}'
    assert new.decode(new.from_json(b'{"name":"Cy"}')) == PersonV2("Cy")
    assert first[5:] == b'{"name":"Ada"}', "the version is in the schema, not in the record"
    with pytest.raises(EncodeError, match="takes PersonV2, not dict"):
        new.encode({"name": "Bob"})


def test_the_codec_must_be_that_of_the_schema(schemas: Registry, topic_name: str) -> None:
    data = avro(schemas, topic_name, V1).encode({"name": "Alice"})
    with pytest.raises(DecodeError, match="is AVRO, not JSON"):
        schemas.json_schema().decode(data)


def test_a_registry_that_is_down_stops_neither_a_restore_nor_reads_of_known_schemas(
    connection: Connection, topic: str, schemas: Registry
) -> None:
    nowhere = Registry(f"http://127.0.0.1:{free_ports(1)[0]}")
    with Table(topic, connection=connection, value=schemas.avro(V1)) as users:
        users.put("user-1", {"name": "Alice"})
    blind = Table(
        topic, connection=connection, value=nowhere.avro(), on_bad="quarantine", name="blind"
    )
    with blind:
        assert len(blind) == 1
        for _ in range(2):
            with pytest.raises(RegistryError, match="does not answer"):
                blind.get("user-1")
        assert blind.raw.get(b"user-1").value is not None


def test_an_error_holds_no_secret() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    secret = Registry(url, username="me", password="hunter-two", token="t0k3n")  # noqa: S106
    with pytest.raises(RegistryError) as caught:
        secret.avro().decode(b"\x00\x00\x00\x00\x07x")
    shown = f"{caught.value} {caught.value.hint} {secret.settings!r}"
    assert "hunter-two" not in shown
    assert "t0k3n" not in shown


def _json(schema: Any) -> str:
    return codec("json").encode(schema).decode()


def test_columns_have_the_types_of_the_newest_schema(schemas: Registry, topic_name: str) -> None:
    newest = avro(schemas, topic_name)
    assert newest.typed_column() is None, "there is no schema yet"
    old = avro(schemas, topic_name, V1).encode({"name": "Alice"})
    new = avro(schemas, topic_name, V2).encode({"name": "Bob", "age": 7})
    column = pickle.loads(pickle.dumps(newest.typed_column()))  # noqa: S301
    assert column.type == StructType((("name", "string"), ("age", "int32")))
    found = column.read([old, new, None, b"{}", new + b"more"])
    assert found.values == [{"name": "Alice", "age": -1}, {"name": "Bob", "age": 7}] + [None] * 3
    assert found.unfit == 2
    numbers = [each.version.number for each in newest.value_schema().versions]
    assert (newest.value_schema().subject, numbers) == (f"{topic_name}-value", [1, 2])


def test_a_column_of_protobuf_holds_one_message_of_the_schema(
    schemas: Registry, topic_name: str
) -> None:
    text = 'syntax = "proto3"; message A { string name = 1; } message B { string street = 1; }'
    context = Context(topic_name, "value")
    first, second = (
        schemas.protobuf(text, message=name).bound(context).encode({field: "x"})
        for name, field in (("A", "name"), ("B", "street"))
    )
    found = schemas.protobuf().bound(context).typed_column().read([first, second])  # type: ignore[union-attr]
    assert (found.values, found.unfit) == ([{"name": "x"}, None], 1)


def test_a_column_of_a_json_schema_needs_no_class(schemas: Registry, topic_name: str) -> None:
    described = {
        "type": "object",
        "properties": {"at": {"type": "string", "format": "date-time"}, "n": {"type": "integer"}},
    }
    context = Context(topic_name, "value")
    data = schemas.json_schema(described).bound(context).encode({"at": "2026-01-02T12:00:00Z"})
    column = schemas.json_schema().bound(context).typed_column()
    assert column is not None and column.type == StructType((("at", "timestamp"), ("n", "int64")))
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    assert column.read([data]).values == [{"at": noon, "n": None}]
