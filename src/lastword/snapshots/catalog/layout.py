"""The columns of the Delta tables, the same for Spark, which writes, and deltalake, which reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lastword.codecs.columns.type_tree import (
    ColumnType,
    DecimalType,
    ListType,
    MapType,
    StructType,
)

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

# The name of a type for Delta and Spark, and the type for Arrow.
_SCALARS: dict[str, tuple[str, pa.DataType]] = {
    "string": ("string", pa.string()),
    "enum": ("string", pa.string()),
    "json": ("string", pa.string()),
    "boolean": ("boolean", pa.bool_()),
    "int32": ("integer", pa.int32()),
    "int64": ("long", pa.int64()),
    "float32": ("float", pa.float32()),
    "float64": ("double", pa.float64()),
    "bytes": ("binary", pa.binary()),
    "date": ("date", pa.date32()),
    "timestamp": ("timestamp", TIMESTAMP),
    "timestamp_ntz": ("timestamp_ntz", pa.timestamp("us")),
}

RAW_COLUMNS = ("key", "value", "headers", "offset", "timestamp")
_RECORD: dict[str, ColumnType] = {
    "key": "bytes",
    "value": "bytes",
    "headers": ListType(StructType((("key", "string"), ("value", "bytes")))),
    "offset": "int64",
    "timestamp": "timestamp",
}


def snapshot_columns(decoded: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """The columns of a snapshot, given those that are decoded."""
    return {**_RECORD, **decoded, "partition": "int32"}


def history_columns(decoded: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """The columns of a history; a null value is a delete."""
    return {**snapshot_columns(decoded), "date": "date"}


def arrow_type(kind: ColumnType) -> pa.DataType:
    """The type for Arrow."""
    if isinstance(kind, StructType):
        return pa.struct([(name, arrow_type(each)) for name, each in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(arrow_type(kind.item))
    if isinstance(kind, MapType):
        return pa.map_(arrow_type(kind.key), arrow_type(kind.value))
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return _SCALARS[kind][1]


def arrow_schema(columns: Mapping[str, ColumnType]) -> pa.Schema:
    """All columns for Arrow."""
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in columns.items()])


def delta_type(kind: ColumnType) -> Any:
    """The type as Delta's log and Spark write it in JSON."""
    if isinstance(kind, StructType):
        return delta_schema(dict(kind.fields))
    if isinstance(kind, ListType):
        return {"type": "array", "elementType": delta_type(kind.item), "containsNull": True}
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": delta_type(kind.key),
            "valueType": delta_type(kind.value),
            "valueContainsNull": True,
        }
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    return _SCALARS[kind][0]


def delta_schema(columns: Mapping[str, ColumnType]) -> dict[str, Any]:
    """All columns as Delta's log and Spark write them in JSON."""
    fields = [
        {"name": name, "type": delta_type(kind), "nullable": True, "metadata": {}}
        for name, kind in columns.items()
    ]
    return {"type": "struct", "fields": fields}
