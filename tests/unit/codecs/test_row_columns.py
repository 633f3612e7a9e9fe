"""Columns of captured tables: by the types of the database, and what does not fit them."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from lastword.codecs.columns.row_columns import column_type
from lastword.codecs.columns.type_tree import ColumnType, DecimalType, ListType
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.row import RowCodec
from lastword.codecs.row_schema import RowSchema, SourceColumn, SourceColumns
from lastword.snapshots.catalog.decoded_columns import DecodedArray, decoded_columns

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def codec_of(**types: str) -> RowCodec:
    columns = [SourceColumn(name, kind, n) for n, (name, kind) in enumerate(types.items())]
    return RowCodec(lambda: RowSchema.first(SourceColumns(7, tuple(columns))))


def decoded(codec: RowCodec, *rows: bytes) -> DecodedArray:
    """As an executor makes the column: of a pickled description."""
    columns = pickle.loads(pickle.dumps(decoded_columns(RowCodec(), codec)))  # noqa: S301
    found: DecodedArray = columns.value.decoded(pa.array(rows, pa.binary()))
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("smallint", "int32"),
        ("bigint", "int64"),
        ("numeric(12,2)", DecimalType(12, 2)),
        ("numeric(5)", DecimalType(5, 0)),
        ("numeric(2,-3)", "string"),
        ("numeric(40,2)", "string"),
        ("numeric", "string"),
        ("money", DecimalType(19, 2)),
        ("timestamp(3) without time zone", "timestamp_ntz"),
        ("timestamp with time zone", "timestamp"),
        ("time(0) with time zone", "string"),
        ("date[]", ListType("date")),
        ("numeric(4,1)[]", ListType(DecimalType(4, 1))),
        ("character varying(20)", "string"),
        ("bit(1)", "boolean"),
        ("bit(8)", "string"),
        ("bytea", "bytes"),
        ("jsonb", "json"),
        ("mood", "string"),
    ],
)
def test_a_column_has_the_type_of_the_database(source: str, expected: ColumnType) -> None:
    assert column_type(source) == expected


def test_every_value_is_in_a_column_of_its_type() -> None:
    row: dict[str, Any] = {
        "id": 2**40,
        "price": Decimal("9.90"),
        "exact": Decimal("1.5E+200"),
        "made": NOON,
        "local": NOON.replace(tzinfo=None),
        "day": NOON.date(),
        "at": time(3, 4),
        "photo": b"\x00\xff",
        "tags": ["a", None],
        "days": [NOON.date()],
        "extra": {"a": [1]},
        "ref": UUID(int=1),
        "ratio": float("inf"),
        "place": {"x": 1.0, "y": 2.0},
    }
    codec = codec_of(
        id="bigint",
        price="numeric(8,2)",
        exact="numeric",
        made="timestamp with time zone",
        local="timestamp without time zone",
        day="date",
        at="time without time zone",
        photo="bytea",
        tags="text[]",
        days="date[]",
        extra="jsonb",
        ref="uuid",
        ratio="real",
        place="point",
        new="integer",
    )
    found = decoded(codec, codec.encode(row))
    texts = {
        "exact": "1.5E+200",
        "at": "03:04:00",
        "extra": '{"a":[1]}',
        "ref": str(UUID(int=1)),
        "place": '{"x":1.0,"y":2.0}',
        "new": None,
    }
    assert (found.array.to_pylist(), found.unfit) == ([row | texts], 0)


def test_a_value_that_does_not_fit_is_null_and_the_others_stay() -> None:
    codec = codec_of(id="integer", price="numeric(4,1)", until="date", note="text")
    rows = [
        codec.encode({"id": 1, "price": Decimal("NaN"), "until": "infinity", "note": "a"}),
        codec.encode({"id": 2, "price": Decimal("1.5"), "until": date.min, "note": 5}),
        codec.encode({"id": 3, "price": Decimal("12345.1")}),
        b"not a row",
    ]
    found = decoded(codec, *rows)
    assert found.array.to_pylist() == [
        {"id": 1, "price": None, "until": None, "note": "a"},
        {"id": 2, "price": Decimal("1.5"), "until": date.min, "note": "5"},
        {"id": 3, "price": None, "until": None, "note": None},
        None,
    ]
    assert found.unfit == 3


def test_the_columns_of_the_next_snapshot_are_those_of_then() -> None:
    schema = RowSchema.first(SourceColumns(7, (SourceColumn("id", "integer", 1),)))
    now = [schema]
    codec = RowCodec(lambda: now[0])
    before = codec.typed_column()
    now[0] = schema.followed(SourceColumns(7, (SourceColumn("id", "bigint", 1),)), 1000)
    after = codec.typed_column()
    assert isinstance(before, TypedColumn) and isinstance(after, TypedColumn)
    assert before.type != after.type
    (shown,) = codec.value_schema().versions
    assert (shown.version.number, shown.kind) == (2, "JSON")
    assert json.loads(shown.text)["properties"]["id"]["description"] == "bigint"


def test_rows_without_known_columns_are_json_text() -> None:
    row = b'{"id":1,"price":"9.90","$types":{"price":"decimal"}}'
    odd_names = codec_of(**{"a b": "integer"})
    for codec in (RowCodec(), RowCodec(lambda: None), odd_names):
        assert decoded(codec, row).array.to_pylist() == [row.decode()]
    assert RowCodec().value_schema().versions == ()
