"""Columns of a schema: which types they have, and which values fit."""

from __future__ import annotations

import datetime
import enum
import pickle
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

import fastavro
import msgspec
import pydantic
import pytest

from lastword.codecs import TypedCodec
from lastword.codecs.columns.avro_columns import avro_column
from lastword.codecs.columns.class_columns import class_columns
from lastword.codecs.columns.fitting import UNFIT, fit_for
from lastword.codecs.columns.json_columns import json_columns
from lastword.codecs.columns.proto_columns import proto_columns
from lastword.codecs.columns.type_tree import (
    JSON,
    PARTS_MAX,
    ColumnType,
    DecimalType,
    ListType,
    MapType,
    StructType,
    struct_of,
)
from lastword.codecs.registry.proto_file import ProtoFile

NOON = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Part(msgspec.Struct, rename="camel", omit_defaults=True):
    long_name: str
    made: datetime.datetime | None = None
    local: Annotated[datetime.datetime, msgspec.Meta(tz=False)] | None = None
    color: Color = Color.RED
    level: Level = Level.LOW
    price: Decimal = Decimal("1.5")
    raw: bytes = b"\xff"
    sizes: tuple[int, ...] = ()
    by_name: dict[str, float] = {}
    either: int | str = 0
    kind: Literal["a", "b"] = "a"
    parts: list[Part] = []


PART = StructType(
    (
        ("longName", "string"),
        ("made", "timestamp"),
        ("local", "timestamp_ntz"),
        ("color", "string"),
        ("level", "int64"),
        ("price", DecimalType(38, 18)),
        ("raw", "bytes"),
        ("sizes", ListType("int64")),
        ("byName", MapType("string", "float64")),
        ("either", JSON),
        ("kind", "string"),
        ("parts", ListType(JSON)),
    )
)


def test_a_struct_has_a_column_per_field_by_its_name_in_documents() -> None:
    column = pickle.loads(pickle.dumps(TypedCodec("json", Part).typed_column()))  # noqa: S301
    assert column.type == PART
    encode = TypedCodec("json", Part).encode
    whole = Part("x", made=NOON, sizes=(1, 2), by_name={"a": 1.5}, either="t", parts=[Part("y")])
    found = column.read([encode(whole), encode(Part("z")), None, b'{"longName": 1}', b"\xff"])
    assert found.unfit == 2
    assert found.values[2:] == [None, None, None]
    assert found.values[0]["made"] == NOON
    assert found.values[0]["byName"] == [("a", 1.5)]
    assert (found.values[0]["either"], found.values[0]["parts"]) == ('"t"', ['{"longName":"y"}'])
    assert (found.values[1]["color"], found.values[1]["raw"]) == ("red", b"\xff")


def test_dataclasses_and_pydantic_models_have_the_same_columns() -> None:
    @dataclass
    class Plain:
        name: str
        day: datetime.date | None = None

    class Inner(pydantic.BaseModel):
        n: int

    class Model(pydantic.BaseModel):
        name: str = pydantic.Field(alias="fullName")
        day: datetime.date | None = None
        at: pydantic.NaiveDatetime | None = None
        inner: Inner | None = None

    assert class_columns(Plain) == StructType((("name", "string"), ("day", "date")))
    model = TypedCodec("json", Model).typed_column()
    assert model.type == StructType(
        (
            ("fullName", "string"),
            ("day", "date"),
            ("at", "timestamp_ntz"),
            ("inner", StructType((("n", "int64"),))),
        )
    )
    found = model.read([b'{"fullName":"A","day":"2026-01-02","inner":{"n":1}}'])
    assert found.values == [{"fullName": "A", "day": NOON.date(), "at": None, "inner": {"n": 1}}]


def test_avro_types_become_columns() -> None:
    logical = {
        "at": ("long", {"logicalType": "timestamp-millis"}),
        "local": ("long", {"logicalType": "local-timestamp-micros"}),
        "day": ("int", {"logicalType": "date"}),
        "price": ("bytes", {"logicalType": "decimal", "precision": 9, "scale": 2}),
        "huge": ("bytes", {"logicalType": "decimal", "precision": 60, "scale": 2}),
    }
    fields: list[dict[str, Any]] = [
        {"name": name, "type": {"type": kind, **more}} for name, (kind, more) in logical.items()
    ]
    fields += [
        {"name": "age", "type": ["null", "int"]},
        {"name": "either", "type": ["int", "string"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
        {"name": "next", "type": ["null", "Event"]},
        {"name": "again", "type": {"type": "array", "items": "Kind"}},
        {"name": "tags", "type": {"type": "map", "values": "float"}},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
    ]
    schema = {"type": "record", "name": "Event", "fields": fields}
    assert avro_column(fastavro.parse_schema(schema)).type == StructType(
        (
            ("at", "timestamp"),
            ("local", "timestamp_ntz"),
            ("day", "date"),
            ("price", DecimalType(9, 2)),
            ("huge", "string"),
            ("age", "int32"),
            ("either", JSON),
            ("kind", "enum"),
            ("next", JSON),
            ("again", ListType("enum")),
            ("tags", MapType("string", "float32")),
            ("hash", "bytes"),
        )
    )


def test_json_schemas_become_columns() -> None:
    schema = {
        "type": "object",
        "properties": {
            "at": {"type": "string", "format": "date-time"},
            "n": {"type": ["integer", "null"]},
            "x": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "home": {"$ref": "#/$defs/Place"},
            "other": {"$ref": "https://example.com/elsewhere"},
            "kind": {"enum": ["a", "b"]},
            "tags": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "any": True,
        },
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/Place"}, "n": {"type": "integer"}},
            }
        },
    }
    assert json_columns(schema) == StructType(
        (
            ("at", "timestamp"),
            ("n", "int64"),
            ("x", "float64"),
            ("home", StructType((("next", JSON), ("n", "int64")))),
            ("other", JSON),
            ("kind", "string"),
            ("tags", MapType("string", "boolean")),
            ("any", JSON),
        )
    )


def test_protobuf_messages_become_columns() -> None:
    text = """
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    enum Kind { NONE = 0; }
    message Event {
      string name = 1; optional int32 age = 2; uint64 big = 3; bytes raw = 4; Kind kind = 5;
      google.protobuf.Timestamp at = 6; map<int32, double> by_number = 7; repeated Event next = 8;
    }
    """
    assert proto_columns(ProtoFile(text, {}).named(None).type.DESCRIPTOR) == StructType(
        (
            ("name", "string"),
            ("age", "int32"),
            ("big", DecimalType(20, 0)),
            ("raw", "bytes"),
            ("kind", "enum"),
            ("at", "timestamp"),
            ("by_number", MapType("int32", "float64")),
            ("next", ListType(JSON)),
        )
    )


@pytest.mark.parametrize(
    "names", [("a", "A"), ("a b",), ("a.b",), ("a;DROP",), ("`",), ("",), ("x\n",), ()]
)
def test_names_that_delta_cannot_hold_are_json_text(names: tuple[str, ...]) -> None:
    assert struct_of([(name, "string") for name in names]) == JSON


def test_a_schema_that_grows_without_end_is_cut_off() -> None:
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(100):
        nested = {"type": "array", "items": nested}
    depth, found = 0, json_columns(nested)
    while isinstance(found, ListType):
        depth, found = depth + 1, found.item
    assert (found, depth < 100) == (JSON, True)

    wide = {
        f"L{n}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/L{n + 1}"} for side in "ab"},
        }
        for n in range(25)
    }
    assert _parts(json_columns({"$ref": "#/$defs/L0", "$defs": wide})) <= 2 * PARTS_MAX


def _parts(kind: ColumnType) -> int:
    return 1 + sum(_parts(each) for _, each in kind.fields) if isinstance(kind, StructType) else 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", 5),
        ("boolean", 1),
        ("int32", 1 << 31),
        ("int64", 1.5),
        ("int64", True),
        ("float64", "1"),
        ("bytes", "not base64"),
        ("date", NOON),
        ("timestamp", "soon"),
        ("timestamp_ntz", NOON),
        (DecimalType(4, 2), Decimal("123.4")),
        (DecimalType(4, 2), Decimal("1.234")),
        (DecimalType(4, 2), Decimal("NaN")),
        (ListType("string"), "text"),
        (MapType("string", "int64"), [1]),
        (StructType((("a", "int64"),)), 5),
    ],
)
def test_a_value_of_another_type_does_not_fit(kind: ColumnType, value: Any) -> None:
    with pytest.raises(UNFIT):
        fit_for(kind)(value)
