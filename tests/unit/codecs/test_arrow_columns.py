"""Documents that the native module writes as columns: the same rows as by way of Python values."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastword.codecs.columns.column_layout import described
from lastword.codecs.columns.fitting import UNFIT, fit_for
from lastword.codecs.columns.json_columns import json_columns
from lastword.codecs.columns.type_tree import ColumnType
from lastword.codecs.registry.document_plan import document_plan, native_documents
from lastword.native import NATIVE
from lastword.snapshots.catalog.decoded_columns import laid_out
from lastword.snapshots.catalog.layout import arrow_type
from tests.support.random_documents import DEFINITIONS, RandomDocuments

PREFIX = b"\0\0\0\0\7"
PROFILE = {
    "type": ["object", "null"],
    "$defs": DEFINITIONS,
    "properties": {
        "name": {"type": "string"},
        "score": {"type": "number"},
        "visits": {"type": "integer"},
        "active": {"type": "boolean"},
        "city": {"type": ["string", "null"]},
        "home": {"type": "object", "properties": {"zip": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": ["string", "null"]}},
        "orders": {
            "type": "array",
            "items": {"type": "object", "properties": {"total": {"type": "number"}}},
        },
    },
}
LEFT = '{"tags":["a"],"tags":null}'  # null is not an array
EMPTY = dict.fromkeys(PROFILE["properties"])  # type: ignore[call-overload]


def columns_of(schema: Any, batch: list[bytes | None]) -> tuple[list[Any], list[int]] | None:
    """The rows, and the indexes of what is left to decode; None without the module."""
    kind = json_columns(schema)
    if not hasattr(NATIVE, "Documents"):
        return None
    layout, left = native_documents(schema).columns(batch, PREFIX, described(kind))
    array = laid_out(kind, layout)
    array.validate(full=True)
    return array.to_pylist(), left


def by_values(kind: ColumnType, values: list[Any]) -> list[Any]:
    """The rows that Arrow makes of values; None where the type cannot hold one."""
    rows = []
    for value in values:
        try:
            rows += pa.array([None if value is None else fit_for(kind)(value)], arrow_type(kind))
        except (*UNFIT, pa.ArrowException):
            rows.append(None)
    return [None if row is None else row.as_py() for row in rows]


def framed(*documents: Any) -> list[bytes | None]:
    return [None if each is None else PREFIX + json.dumps(each).encode() for each in documents]


def of_json_types(schema: Any) -> Any:
    """The schema with those of its members whose columns have only types that JSON has."""
    members = {
        name: each
        for name, each in schema["properties"].items()
        if described(json_columns({**each, "$defs": DEFINITIONS} if each is not True else True))
    }
    required = [name for name in schema["required"] if name in members]
    return {**schema, "properties": members, "required": required}


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_columns_have_the_rows_of_the_values(seed: int) -> None:
    chance = RandomDocuments(seed)
    schema = of_json_types(chance.schema())
    kind = json_columns(schema)
    if document_plan(schema) is None or described(kind) is None:
        return
    batch: list[bytes | None] = [PREFIX + chance.text(chance.document(schema)) for _ in range(20)]
    batch[7] = None
    found = columns_of(schema, batch)
    if found is not None:
        rows, left = found
        values, unsure = native_documents(schema).values(batch, PREFIX)
        assert set(unsure) <= set(left)
        for i in left:
            values[i] = None
        assert rows == by_values(kind, values)


def test_a_row_that_is_left_leaves_nothing_behind() -> None:
    good = {"name": "Ada", "tags": ["x", None], "orders": [{"total": 1}, {}], "home": {"zip": "1"}}
    cut = b'{"name":"B","tags":["a","b"],"orders":[{"total":2},{"total":'
    trailing = PREFIX + json.dumps(good).encode() + b"x"
    wrong = {**good, "orders": [{"total": 1.5}], "visits": "many"}
    found = columns_of(
        PROFILE, [*framed(good), PREFIX + cut, trailing, *framed(wrong, good), b"\0\0\0\0\1{}"]
    )
    row = EMPTY | good | {"orders": [{"total": 1.0}, {"total": None}]}
    assert found in (None, ([row, None, None, None, row, None], [1, 2, 3, 5]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {}),
        ("null", None),
        ('{"city":null,"home":{}}', {"home": {"zip": None}}),
        ('{"name":"a","name":"b\\n\\u00e9\\ud83d\\ude00"}', {"name": "b\né😀"}),
        ('{"orders":[{"total":1},{"total":2}],"orders":[{}]}', {"orders": [{"total": None}]}),
        (LEFT, None),
        ('{"score":-0,"visits":-999999999999999999}', {"score": 0.0, "visits": -(10**18) + 1}),
        ('{"score":1e3,"active":true}', {"score": 1000.0, "active": True}),
        ('{"score":9007199254740993}', {"score": 9007199254740992.0}),
        ('{"other":{"name":1},"active":false}', {"active": False}),
    ],
)
def test_documents_become_rows(text: str, expected: Any) -> None:
    around = EMPTY | {"name": "around"}
    batch = [*framed({"name": "around"}), PREFIX + text.encode(), *framed({"name": "around"})]
    row = None if expected is None else EMPTY | expected
    left = [1] if text == LEFT else []
    assert columns_of(PROFILE, batch) in (None, ([around, row, around], left))


def test_wrong_columns_are_refused() -> None:
    if not hasattr(NATIVE, "Documents"):
        return
    documents = native_documents(PROFILE)
    deep: Any = (16, "", ())
    for _ in range(100):
        deep = (64, "", (deep,))
    for wrong in (
        None,
        (),
        (16, "", 1),
        (3, "", ()),
        (64, "", ()),
        (32, "", (1,)),
        (16, "", ((16, "", ()),)),
        deep,
    ):
        with pytest.raises((TypeError, ValueError)):
            documents.columns([], PREFIX, wrong)
    with pytest.raises(TypeError):
        documents.columns([], PREFIX)


def test_types_that_json_does_not_have_are_not_described() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}}
    assert described(json_columns(schema)) is None
    assert described(json_columns({"type": "object", "additionalProperties": {}})) is None
