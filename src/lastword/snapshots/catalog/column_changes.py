"""What became of the columns of a Delta table: what is new, gone or of another type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from lastword.codecs.columns.type_tree import (
    ColumnType,
    DecimalType,
    ListType,
    MapType,
    StructType,
)
from lastword.errors import SnapshotError
from lastword.snapshots.catalog.layout import delta_type

Columns = Mapping[str, ColumnType]

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_SCALARS: dict[str, ColumnType] = {
    "string": "string",
    "boolean": "boolean",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "binary": "bytes",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}


def held_columns(table: DeltaTable) -> dict[str, ColumnType]:
    """The columns that a version of a Delta table has; raises SnapshotError for unknown types."""
    fields = json.loads(table.schema().to_json())["fields"]
    return {each["name"]: _column_type(each["type"]) for each in fields}


def _column_type(written: Any) -> ColumnType:
    if isinstance(written, str):
        if written in _SCALARS:
            return _SCALARS[written]
        if (digits := _DECIMAL.fullmatch(written)) is not None:
            return DecimalType(int(digits[1]), int(digits[2]))
    elif written["type"] == "struct":
        fields = ((each["name"], _column_type(each["type"])) for each in written["fields"])
        return StructType(tuple(fields))
    elif written["type"] == "array":
        return ListType(_column_type(written["elementType"]))
    elif written["type"] == "map":
        return MapType(_column_type(written["keyType"]), _column_type(written["valueType"]))
    raise SnapshotError(
        f"a column has the type {written!r:.100}, which snapshots do not have",
        hint="another program has changed the table; move it away to start a new one",
    )


def column_changes(before: Columns, after: Columns, *, within: str = "") -> list[str]:
    """What changed, one text per column or field; empty if nothing did."""
    found: list[str] = []
    for name, kind in after.items():
        path = f"{within}{name}"
        if name not in before:
            found.append(f"{path} is new")
        else:
            found += _type_changes(before[name], kind, path)
    return found + [f"{within}{name} is gone" for name in before if name not in after]


def _type_changes(before: ColumnType, after: ColumnType, path: str) -> list[str]:
    if isinstance(before, StructType) and isinstance(after, StructType):
        return column_changes(dict(before.fields), dict(after.fields), within=f"{path}.")
    if isinstance(before, ListType) and isinstance(after, ListType):
        return _type_changes(before.item, after.item, f"{path}[]")
    if isinstance(before, MapType) and isinstance(after, MapType):
        keys = _type_changes(before.key, after.key, f"{path}{{key}}")
        return keys + _type_changes(before.value, after.value, f"{path}{{}}")
    old, new = type_name(before), type_name(after)
    return [] if old == new else [f"{path} was {old} and is {new}"]


def merged_columns(held: Columns, wanted: Columns, *, uri: str) -> dict[str, ColumnType]:
    """The columns of a table that keeps its rows and gets ``wanted`` ones as well.

    A column that is gone stays, and is null from now on. Raises SnapshotError where the type of a
    column changed: rows that are there have the other one.
    """
    clashes = [each for each in column_changes(held, wanted) if " was " in each]
    if clashes:
        raise SnapshotError(
            f"{uri}: {'; '.join(clashes[:5])}",
            hint="decode its rows again, which writes the whole history once: "
            "lastword snapshot create TABLE --history --full",
        )
    return _merged(held, wanted)


def _merged(held: Columns, wanted: Columns) -> dict[str, ColumnType]:
    kept = {
        name: _merged_type(kind, wanted[name]) if name in wanted else kind
        for name, kind in held.items()
    }
    return kept | {name: kind for name, kind in wanted.items() if name not in held}


def _merged_type(held: ColumnType, wanted: ColumnType) -> ColumnType:
    if isinstance(held, StructType) and isinstance(wanted, StructType):
        return StructType(tuple(_merged(dict(held.fields), dict(wanted.fields)).items()))
    if isinstance(held, ListType) and isinstance(wanted, ListType):
        return ListType(_merged_type(held.item, wanted.item))
    if isinstance(held, MapType) and isinstance(wanted, MapType):
        return MapType(wanted.key, _merged_type(held.value, wanted.value))
    return wanted


def type_name(kind: ColumnType) -> str:
    """The name of a type for people: as Delta has it, without what is inside."""
    found = delta_type(kind)
    return found if isinstance(found, str) else str(found["type"])
