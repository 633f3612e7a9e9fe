"""Documents of flat schemas: decoded in one step, and never more than the schema allows."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastword.codecs.registry.flat_documents import flat_decoder

KINDS = ("string", "integer", "number", "boolean", "null")
names = st.sampled_from(["a", "b", "c", "long_name", "Übung"])
scalars = st.one_of(
    st.text(max_size=3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, -0.0, 2**63, 2**70]),
    st.booleans(),
    st.none(),
)
values = st.one_of(scalars, st.lists(scalars, max_size=2))


def schema_of(kinds: dict[str, str], **more: Any) -> dict[str, Any]:
    members = {name: {"type": kind, "title": name} for name, kind in kinds.items()}
    return {"type": "object", "properties": members, "required": list(kinds)} | more


@given(
    kinds=st.dictionaries(names, st.sampled_from(KINDS), min_size=1),
    document=st.one_of(st.dictionaries(names, values), values),
    closed=st.booleans(),
)
@example(kinds={"a": "integer"}, document={"a": 1, "b": 2}, closed=True)
@example(kinds={"a": "number"}, document={"a": True}, closed=False)
@example(kinds={"a": "integer"}, document={"a": 1.5}, closed=False)
def test_what_is_decoded_is_valid_and_the_same_as_without_the_schema(
    kinds: dict[str, str], document: Any, closed: bool
) -> None:
    schema = schema_of(kinds, additionalProperties=not closed)
    decode = flat_decoder(schema, "x-version")
    assert decode is not None
    text = msgspec.json.encode(document)
    plain = msgspec.json.decode(text)
    try:
        found = msgspec.structs.asdict(decode(text))
    except msgspec.ValidationError:
        return  # the schema itself decides
    assert jsonschema_rs.validator_for(schema).is_valid(plain)
    assert found == plain
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in plain.items()
    }


def test_a_document_with_every_member_is_decoded() -> None:
    kinds = dict(zip("abcde", KINDS, strict=True))
    decode = flat_decoder(schema_of(kinds, **{"x-version": 3}), "x-version")
    assert decode is not None
    document = {"a": "x", "b": 2**70, "c": 1, "d": False, "e": None}
    assert msgspec.structs.asdict(decode(msgspec.json.encode(document))) == document


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": "string"},
        {"type": "object"},
        schema_of({"a": "string"}) | {"required": []},
        schema_of({"a": "string"}) | {"required": ["a", "b"]},
        schema_of({"a": "string"}, minProperties=2),
        schema_of({"a": "string"}, patternProperties={"a": {"maxLength": 1}}),
        schema_of({"a": "array"}),
        schema_of({"a-b": "string"}),
        schema_of({"class": "string"}),
        schema_of({"__init__": "string"}),
        schema_of({"a": "string"}) | {"properties": {"a": {"type": "string", "maxLength": 1}}},
        schema_of({"a": "string"}) | {"properties": {"a": {"type": ["string", "null"]}}},
        schema_of({"a": "string"}) | {"properties": {"a": {"$ref": "#/definitions/a"}}},
        schema_of({"a": "string"}) | {"properties": {"a": True}},
    ],
)
def test_a_schema_that_says_more_is_left_to_the_validator(schema: Any) -> None:
    assert flat_decoder(schema, "x-version") is None
