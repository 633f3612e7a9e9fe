"""Documents that are read and checked natively: exactly those that are valid, with their values."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lastword.codecs.registry.document_plan import document_plan, native_documents
from lastword.native import NATIVE
from tests.support.random_documents import DEFINITIONS, RandomDocuments

PREFIX = b"\0\0\0\0\7"


def natively(schema: Any) -> list[Any]:
    """What reads documents of the schema natively, in a list that is empty without the module.

    It is the same one for all documents of a schema: it learns from them.
    """
    return [_documents(json.dumps(schema))] if hasattr(NATIVE, "Documents") else []


@lru_cache(4)
def _documents(schema: str) -> Any:
    return native_documents(json.loads(schema))


def read(schema: Any, text: bytes) -> tuple[Any, bool]:
    """The value by the native module, and whether it is sure; all its ways must agree.

    Without the module, as the schema itself decides.
    """
    for documents in natively(schema):
        ((value,), unsure) = documents.values([PREFIX + text], PREFIX)
        assert documents.unsure([PREFIX + text], PREFIX) == unsure
        assert same(documents.value(b"xy" + text, 2), value)
        return value, not unsure
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None, False
    valid = jsonschema_rs.validator_for(schema).is_valid(plain)
    return (plain, True) if valid else (None, False)


def same(one: Any, other: Any) -> bool:
    """Equal, of the same types, in the same order."""
    return (
        msgspec.msgpack.encode(one) == msgspec.msgpack.encode(other) if fits(one) else one == other
    )


def fits(value: Any) -> bool:
    """Whether msgpack can hold it: no integers beyond 64 bits."""
    try:
        msgspec.msgpack.encode(value)
    except OverflowError:
        return False
    return True


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_what_is_read_is_valid_and_the_same_as_without_the_schema(seed: int) -> None:
    chance = RandomDocuments(seed)
    schema = chance.schema()
    if document_plan(schema) is None:
        return
    validator = jsonschema_rs.validator_for(schema)
    for _ in range(30):
        text = chance.text(chance.document(schema))
        value, sure = read(schema, text)
        if sure:
            plain = msgspec.json.decode(text)
            assert validator.is_valid(plain), (schema, text)
            assert same(value, plain), (schema, text)


PROFILE = {
    "type": "object",
    "$defs": DEFINITIONS,
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 150},
        "color": {"$ref": "#/$defs/color"},
        "home": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "orders": {
            "type": "array",
            "items": {"type": "object", "properties": {"total": {"type": "number"}}},
            "maxItems": 2,
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "tree": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/tree"}]},
    },
    "required": ["name"],
}
READ = [
    '{"name":"Ada"}',
    ' { "name" : "Ada" , "age" : null } \n',
    '{"more":[1,{"x":[]}],"name":"😀😀😀😀😀","age":149}',
    '{"name":"\\u00e9\\ud83d\\ude00\\n\\"","color":"éé"}',
    '{"name":"Ada","home":{"zip":"1","city":"Paris"},"orders":[{"total":1.5e3},{"more":1}]}',
    '{"name":"Ada","labels":{"x":"1","y":"2"},"tree":{"b":[{"a":null},{"a":{"b":[]}}]}}',
    '{"name":"Ada","name":"Bob"}',
    '{"name":"Ada","orders":[{"total":0.10000000000000000555},{"total":123456789.123456789}]}',
]
NOT_READ = [
    "{}",
    '{"name":""}',
    '{"name":"Ada","age":-1}',
    '{"name":"Ada","age":150}',
    '{"name":"Ada","age":1.5}',
    '{"name":"Ada","color":"blue"}',
    '{"name":"Ada","home":{"zip":"1"}}',
    '{"name":"Ada","home":{"city":"Paris","more":1}}',
    '{"name":"Ada","orders":[{},{},{}]}',
    '{"name":"Ada","labels":{"x":1}}',
    '{"name":"Ada","tree":{"c":1}}',
    '{"name":null}',
    "[]",
]


@pytest.mark.parametrize("text", READ)
def test_usual_documents_are_read(text: str) -> None:
    value, sure = read(PROFILE, text.encode())
    assert sure
    assert same(value, msgspec.json.decode(text))
    assert jsonschema_rs.validator_for(PROFILE).is_valid(value)


@pytest.mark.parametrize("text", NOT_READ)
def test_invalid_documents_are_not_read(text: str) -> None:
    assert read(PROFILE, text.encode()) == (None, False)
    assert not jsonschema_rs.validator_for(PROFILE).is_valid(msgspec.json.decode(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"Ada","age":1.0}',
        '{"n\\u0061me":"Ada"}',
        '{"name":"Ada","age":5,"age":6.0}',
        '{"name":"Ada","more":1' + "0" * 30 + "}",
        '{"name":"Ada","more":' + "[" * 80 + "]" * 80 + "}",
    ],
)
def test_rare_but_valid_documents_are_left_to_the_schema(text: str) -> None:
    for documents in natively(PROFILE):
        assert documents.unsure([text.encode()], b"") == [0]
    assert jsonschema_rs.validator_for(PROFILE).is_valid(msgspec.json.decode(text))


@given(
    text=st.sampled_from(READ).map(str.encode),
    place=st.integers(0, 60),
    cut=st.integers(0, 3),
    put=st.binary(max_size=3)
    | st.sampled_from([b'"', b"\\", b"\\u", b"{", b"}", b",", b"1", b"\xc3"]),
)
@example(text=b'{"name":"Ada"}', place=14, cut=0, put=b",")
@example(text=b'{"name":"Ada"}', place=13, cut=0, put=b",")
@example(text=b'{"name":"Ada"}', place=9, cut=0, put=b"\n")
@example(text=b'{"name":"Ada"}', place=9, cut=0, put=b"\xed\xa0\x80")
@example(text=b'{"name":"Ada"}', place=9, cut=0, put=b"\\ud800")
def test_damaged_documents_are_read_only_as_msgspec_reads_them(
    text: bytes, place: int, cut: int, put: bytes
) -> None:
    damaged = text[:place] + put + text[place + cut :]
    value, sure = read(PROFILE, damaged)
    if sure:
        plain = msgspec.json.decode(damaged)
        assert same(value, plain)
        assert jsonschema_rs.validator_for(PROFILE).is_valid(plain)


@given(text=st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,22})?([eE][-+]?[0-9]{1,3})?", fullmatch=True))
@example(text="0.30000000000000004")
@example(text="9007199254740993.5")
@example(text="1e999")
@example(text="01")
@example(text="-0")
def test_numbers_are_those_of_python(text: str) -> None:
    value, sure = read({"type": "number"}, text.encode())
    if sure:
        wanted = json.loads(text)
        assert (type(value), str(value)) == (type(wanted), str(wanted))
        assert math.isfinite(value)


@given(number=st.floats(1e-17, 1e17))
def test_numbers_of_up_to_eighteen_digits_are_exact(number: float) -> None:
    text = f"{number:.17f}"[:19].rstrip(".")
    assert read({"type": "number"}, text.encode()) == (json.loads(text), True)


def test_a_batch_has_indexes_of_what_is_left_to_the_schema() -> None:
    good = PREFIX + b'{"name":"Ada"}'
    batch = [good, None, b"", b"\0\0\0\0\x08" + good[5:], PREFIX, good[:-1], good]
    left, ada = [2, 3, 4, 5], {"name": "Ada"}
    for documents in natively(PROFILE):
        assert documents.unsure(batch, PREFIX) == left
        assert documents.values(batch, PREFIX) == ([ada, None, None, None, None, None, ada], left)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("age",), {"age": 7}),
        ((), {}),
        (("home", "color"), {"home": {"city": "Paris", "zip": "1"}}),
        (("name", "other"), None),
    ],
)
def test_only_the_wanted_members_are_made(names: Any, expected: Any) -> None:
    whole = {"age": 7, "name": "Ada", "other": 1, "home": {"city": "Paris", "zip": "1"}}
    good = PREFIX + json.dumps(whole).encode()
    wrong = PREFIX + b'{"name":"Ada","age":7,"home":{}}'
    for documents in natively(PROFILE):
        found = documents.values([good, wrong, None], PREFIX, names)
        assert found == ([whole if expected is None else expected, None, None], [1])


def test_documents_keep_the_order_of_their_members() -> None:
    for text in ('{"age":1,"name":"Ada"}', '{"name":"Ada","age":1}', '{"name":"Ada"}') * 3:
        for documents in natively(PROFILE):
            assert list(documents.value(text.encode(), 0)) == list(json.loads(text))


TREE = {"$ref": "#/$defs/tree", "$defs": DEFINITIONS}


def test_objects_of_changing_shapes_within_each_other_are_read_as_they_are() -> None:
    leaves = ["{}", '{"a":null}', '{"b":[]}', '{"a":null,"b":[]}', '{"b":[],"a":null}']
    texts = [f'{{"a":{one},"b":[{two},{one}]}}' for one in leaves for two in leaves]
    deeper = [f'{{"b":[{one}],"a":{two}}}' for one, two in pairwise(texts)]
    for text in (*texts, *deeper, *texts):
        value, sure = read(TREE, text.encode())
        assert sure
        assert same(value, json.loads(text))


def test_deep_documents_that_are_bad_inside_take_no_longer_than_others() -> None:
    read(TREE, b'{"a":null}')
    for end in ('{"a":1}', '{"b":1}', '{"a":null,"b":1}', '{"c":1}'):
        text = '{"a":' * 60 + end + "}" * 60
        assert read(TREE, text.encode()) == (None, False)


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "string", "pattern": "a"},
        {"type": "string", "format": "date", "$schema": "http://json-schema.org/draft-07/schema#"},
        {"type": "number", "multipleOf": 2},
        {"type": "number", "minimum": 2**53 + 1},
        {"type": "number", "minimum": 1, "exclusiveMinimum": True},
        {"type": "array", "items": [{"type": "string"}]},
        {"type": "array", "uniqueItems": True},
        {"type": "object", "patternProperties": {"a": True}},
        {"type": "object", "minProperties": 1},
        {"type": "object", "properties": {"a": False}},
        {"type": "object", "properties": {'a"b': True}},
        {"type": "object", "properties": {"a\\b": True}},
        {"type": "object", "properties": {"a": {"$id": "http://example.com/a", "type": "string"}}},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "required": [f"name{i}" for i in range(65)]},
        {"enum": [1, "a"]},
        {"const": {"a": 1}},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"oneOf": [{"type": "null"}, {"type": ["string", "null"]}]},
        {"oneOf": [{"type": "null"}, True]},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": True}},
        {"not": {"type": "string"}},
    ],
)
def test_a_schema_that_says_more_is_left_to_the_validator(schema: Any) -> None:
    assert document_plan(schema) is None


def test_a_schema_that_refers_only_to_itself_reads_nothing() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    for documents in natively(schema):
        assert documents.unsure([b"1"], b"") == [0]


def test_a_deep_schema_is_left_to_the_validator() -> None:
    schema: dict[str, Any] = {}
    for _ in range(10_000):
        schema = {"type": "array", "items": schema}
    assert document_plan(schema) is None


def test_nonsense_is_refused() -> None:
    plan = document_plan({"type": "object", "properties": {"a": True}})
    assert plan is not None
    node = plan[-1]
    broken = [node._replace(items=99), node._replace(required=2), node._replace(min_items=-1)]
    for documents in natively({"type": "string"}):
        for nonsense in ((), (b"a",), ("a", 0), (b"a", -1), (b"a", "0")):
            with pytest.raises((TypeError, ValueError)):
                documents.value(*nonsense)
        assert documents.value(b"a", 5) is None
        for wrong in (([],), ((), b""), ([], "")):
            with pytest.raises(TypeError):
                documents.values(*wrong)
        for nodes in ([], [()], None, *([each] for each in broken)):
            with pytest.raises((TypeError, ValueError)):
                type(documents)(nodes)
