"""The functions made for Avro schemas, beside fastavro."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from itertools import count
from typing import Any

import fastavro
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lastword.codecs.registry.avro_reader import LongerError, made_reader
from lastword.codecs.registry.avro_schema import refers_to_itself

PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**14), 2**14),
    "float": st.floats(width=32),
    "double": st.floats(),
    "bytes": st.binary(max_size=200),
    "string": st.text(max_size=80),
}
REFUSED = (ValueError, IndexError, EOFError, OverflowError, struct.error)


Typed = tuple[Any, st.SearchStrategy[Any]]
LEAVES: list[Typed] = [
    *PRIMITIVES.items(),
    ({"type": "enum", "name": "", "symbols": ["A", "B"]}, st.sampled_from("AB")),
    ({"type": "fixed", "name": "", "size": 3}, st.binary(min_size=3, max_size=3)),
]


def record_of(parts: list[Typed]) -> Typed:
    fields = [{"name": f"f{i}", "type": part[0]} for i, part in enumerate(parts)]
    values = {f"f{i}": part[1] for i, part in enumerate(parts)}
    return {"type": "record", "name": "", "fields": fields}, st.fixed_dictionaries(values)


def larger(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Types that contain others."""
    sized = inner.filter(lambda each: each[0] != "null")
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(record_of),
        sized.map(
            lambda each: ({"type": "array", "items": each[0]}, st.lists(each[1], max_size=4))
        ),
        sized.map(
            lambda each: (
                {"type": "map", "values": each[0]},
                st.dictionaries(st.text(max_size=5), each[1], max_size=3),
            )
        ),
        sized.filter(lambda each: not isinstance(each[0], list)).map(
            lambda each: (["null", each[0]], st.none() | each[1])
        ),
    )


def named(schema: Any, numbers: Iterator[int]) -> Any:
    """The schema with a name of its own for each type."""
    if isinstance(schema, list):
        return [named(each, numbers) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: named(each, numbers) for name, each in schema.items() if name != "symbols"}
    if "symbols" in schema:
        found["symbols"] = schema["symbols"]
    return {**found, "name": f"T{next(numbers)}"} if schema.get("name") == "" else found


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, Any]:
    """A schema that the codec takes, and a value of it."""
    schema, values = draw(st.recursive(st.sampled_from(LEAVES), larger, max_leaves=6))
    whole = parse(named(schema, count()))
    try:
        refers_to_itself(whole, {})
    except ValueError:
        assume(False)  # an array of items without bytes
    return whole, draw(values)


def parse(schema: Any) -> Any:
    return fastavro.parse_schema(schema)


def written(schema: Any, value: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def by_fastavro(data: bytes, schema: Any, reader: Any = None) -> Any:
    rest = BytesIO(data)
    found = fastavro.schemaless_reader(rest, schema, reader)
    assert rest.tell() == len(data)
    return found


@given(documents(), st.data())
@settings(max_examples=40, deadline=None)
def test_any_document_is_read_as_by_fastavro(
    document: tuple[Any, Any], more: st.DataObject
) -> None:
    schema = parse(document[0])
    read = made_reader(schema, None)
    assert read is not None
    data = written(schema, document[1])
    assert repr(read(b"12345" + data, 5)) == repr(by_fastavro(data, schema))
    with pytest.raises(LongerError):
        read(data + b"\x00", 0)
    at = more.draw(st.integers(0, len(data)))
    for bad in (data[:at], data[:at] + more.draw(st.binary(max_size=3)) + data[at + 1 :]):
        try:
            found = read(bad, 0)
        except REFUSED:
            continue
        assert repr(found) == repr(by_fastavro(bad, schema))


LOGICAL = {
    "type": "record",
    "name": "Times",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "odd", "type": {"type": "string", "logicalType": "unheard-of"}},
    ],
}
TIMES = {
    "at": datetime(2026, 1, 2, tzinfo=UTC),
    "day": date(2026, 1, 2),
    "price": Decimal("-12.50"),
    "odd": "x",
}


def test_logical_types_are_those_of_fastavro() -> None:
    schema = parse(LOGICAL)
    read = made_reader(schema, None)
    assert read is not None
    assert read(written(schema, TIMES), 0) == TIMES


def user(*fields: Any, name: str = "User") -> Any:
    kept = {"name": "name", "type": "string"}
    return {"type": "record", "name": name, "fields": [kept, *fields]}


def added(kind: Any, default: Any) -> Any:
    return {"name": "new", "type": kind, "default": default}


ADDRESS = {"type": "record", "name": "Address", "fields": [{"name": "street", "type": "string"}]}
WIDER = {**ADDRESS, "fields": [*ADDRESS["fields"], added("int", 7)]}


@pytest.mark.parametrize(
    ("writer", "reader", "value"),
    [
        (user(), user(added("int", -1)), {"name": "a"}),
        (user(), user(added(["null", "string"], None)), {"name": "a"}),
        (user({"name": "x", "type": "bytes"}), user(), {"name": "a", "x": b"\xff"}),
        (user({"name": "x", "type": ADDRESS}), user(), {"name": "a", "x": {"street": "s"}}),
        (
            user({"name": "x", "type": {"type": "array", "items": ADDRESS}}),
            user({"name": "x", "type": {"type": "array", "items": WIDER}}),
            {"name": "a", "x": [{"street": "s"}]},
        ),
        (
            user({"name": "x", "type": ["null", ADDRESS]}, {"name": "y", "type": "Address"}),
            user({"name": "x", "type": ["null", WIDER]}, {"name": "y", "type": "Address"}),
            {"name": "a", "x": {"street": "s"}, "y": {"street": "t"}},
        ),
        (
            user({"name": "x", "type": "int"}, {"name": "y", "type": "long"}),
            user({"name": "y", "type": "double"}, {"name": "x", "type": "long"}),
            {"name": "a", "x": 1, "y": 2},
        ),
        (
            user({"name": "x", "type": "string"}),
            user({"name": "x", "type": ["null", "string"]}),
            {"name": "a", "x": "b"},
        ),
    ],
)
def test_records_are_resolved_as_by_fastavro(writer: Any, reader: Any, value: Any) -> None:
    written_by, read_by = parse(writer), parse(reader)
    read = made_reader(written_by, read_by)
    assert read is not None
    data = written(written_by, value)
    assert repr(read(data, 0)) == repr(by_fastavro(data, written_by, read_by))


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("string", "bytes"),
        ("int", "string"),
        (user(), user(name="Person")),
        (user(), user({"name": "new", "type": "int"})),
        (user(), user(added({"type": "array", "items": "int"}, []))),
        (user(), {**user(), "fields": [{"name": "n", "type": "string", "aliases": ["name"]}]}),
        (["null", "int"], ["int", "null"]),
        (["null", "int"], "int"),
    ],
)
def test_what_needs_other_rules_is_left_to_fastavro(writer: Any, reader: Any) -> None:
    assert made_reader(parse(writer), parse(reader)) is None


def test_a_schema_that_is_too_large_or_too_deep_is_left_to_fastavro() -> None:
    many = [{"name": f"f{i}", "type": "int"} for i in range(1001)]
    assert made_reader(parse(user(*many)), None) is None
    deep: Any = "int"
    for _ in range(30):
        deep = {"type": "array", "items": deep}
    assert made_reader(parse(deep), None) is None


def test_names_of_a_schema_never_become_code() -> None:
    name = "__import__('os')"
    field = {"name": "name", "type": "string"}
    schema = {"type": "record", "name": "User", "fields": [field]}
    parsed = parse(schema)
    parsed["fields"][0]["name"] = name
    read = made_reader(parsed, None)
    assert read is not None
    assert read(b"\x02x", 0) == {name: "x"}


@pytest.mark.parametrize("schema", ["string", "bytes", {"type": "array", "items": "string"}])
def test_a_length_beyond_the_document_is_refused_at_once(schema: Any) -> None:
    read = made_reader(parse(schema), None)
    assert read is not None
    for data in (b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80" * 20, b"\x01"):
        with pytest.raises(REFUSED):
            read(data, 0)


def test_an_array_of_fixed_values_ends_with_the_document() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 3}
    read = made_reader(parse({"type": "array", "items": fixed}), None)
    assert read is not None
    with pytest.raises(EOFError):
        read(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01abc", 0)
