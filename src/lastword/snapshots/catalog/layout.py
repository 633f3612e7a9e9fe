"""The columns of the Delta tables, the same for Spark, which writes, and deltalake, which reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lastword.codecs.base import Codec, Column

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

# The type of a codec's column, for Spark and for Arrow.
_TYPES: dict[str, tuple[str, pa.DataType]] = {
    "string": ("STRING", pa.string()),
    "int64": ("BIGINT", pa.int64()),
}

RAW_COLUMNS = ("key", "value", "headers", "offset", "timestamp")


def arrow_type(column: Column) -> pa.DataType:
    """The type of a decoded column."""
    return _TYPES[column.type][1]


def snapshot_columns(key: Codec[Any], value: Codec[Any]) -> str:
    """The columns of a snapshot, as Spark declares them."""
    return ", ".join(
        [
            "key BINARY",
            "value BINARY",
            "headers ARRAY<STRUCT<key: STRING, value: BINARY>>",
            "offset BIGINT",
            "timestamp TIMESTAMP",
            *(f"{name} {_TYPES[column.type][0]}" for name, column in _decoded_columns(key, value)),
            "partition INT",
        ]
    )


def snapshot_schema(key: Codec[Any], value: Codec[Any]) -> pa.Schema:
    """The same, as Arrow has them."""
    fields: list[Any] = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", TIMESTAMP),
    ]
    for name, column in _decoded_columns(key, value):
        fields.append(pa.field(name, arrow_type(column)))
    return pa.schema([*fields, pa.field("partition", pa.int32())])


def history_columns(key: Codec[Any], value: Codec[Any]) -> str:
    """The columns of a history, as Spark declares them; a null value is a delete."""
    return f"{snapshot_columns(key, value)}, date DATE"


def history_schema(key: Codec[Any], value: Codec[Any]) -> pa.Schema:
    """The same, as Arrow has them."""
    return snapshot_schema(key, value).append(pa.field("date", pa.date32()))


def _decoded_columns(key: Codec[Any], value: Codec[Any]) -> list[tuple[str, Column]]:
    both = (("decoded_key", key.column), ("decoded_value", value.column))
    return [(name, column) for name, column in both if column is not None]
