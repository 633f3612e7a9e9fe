"""The columns of a captured table: a field for each column of the database, by its type there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from lastword.codecs.columns.fitting import UNFIT, Fit, fit_for
from lastword.codecs.columns.type_tree import (
    JSON,
    ColumnType,
    DecimalType,
    ListType,
    StructType,
    decimal_of,
    struct_of,
)
from lastword.codecs.columns.typed_column import ColumnValues, TypedColumn
from lastword.codecs.row_schema import RowSchema

_LIST = "[]"
_NUMBERS = re.compile(r"\((\d+)(?:,(-?\d+))?\)")
_SCALARS: dict[str, ColumnType] = {
    "smallint": "int32",
    "integer": "int32",
    "bigint": "int64",
    "oid": "int64",
    "real": "float32",
    "double precision": "float64",
    "boolean": "boolean",
    "bytea": "bytes",
    "date": "date",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
    "money": DecimalType(19, 2),
    "json": JSON,
    "jsonb": JSON,
}


def row_columns(schema: RowSchema) -> StructType | None:
    """The column of such rows; None if Delta cannot hold the names of their columns."""
    found = struct_of((each.name, column_type(each.type)) for each in schema.columns)
    return found if isinstance(found, StructType) else None


def column_type(source: str) -> ColumnType:
    """The type of a column, by what PostgreSQL calls it; text for all other types.

    >>> column_type("numeric(12,2)"), column_type("timestamp(3) with time zone[]")
    (DecimalType(precision=12, scale=2), ListType(item='timestamp'))
    """
    if source.endswith(_LIST):
        return ListType(column_type(source.removesuffix(_LIST)))
    numbers = _NUMBERS.search(source)
    name = _NUMBERS.sub("", source)
    if numbers is not None and name == "numeric":
        return decimal_of(int(numbers[1]), int(numbers[2] or 0))
    if numbers is not None and name == "bit" and numbers[1] == "1":
        return "boolean"
    return _SCALARS.get(name, "string")


class RowColumn(TypedColumn):
    """Rows as structs. A value that its column cannot hold, such as infinity, is null.

    The row is counted as unfit, and its other columns have their values.
    """

    def read(self, data: Sequence[bytes | None]) -> ColumnValues:
        """A batch; bytes that are no row are unfit, too."""
        fields = self.type.fields if isinstance(self.type, StructType) else ()
        fits = [(name, _fit_for(kind)) for name, kind in fields]
        found = self.decode(data)
        values: list[dict[str, Any] | None] = []
        unfit = len(found.bad)
        for row in found.values:
            if row is None:
                values.append(None)
                continue
            cells, fitted = _cells(row, fits)
            values.append(cells)
            unfit += not fitted
        return ColumnValues(values, unfit)


def _cells(row: dict[str, Any], fits: list[tuple[str, Fit]]) -> tuple[dict[str, Any], bool]:
    cells: dict[str, Any] = {}
    fitted = True
    for name, fit in fits:
        value = row.get(name)
        try:
            cells[name] = None if value is None else fit(value)
        except UNFIT:
            cells[name] = None
            fitted = False
    return cells, fitted


def _fit_for(kind: ColumnType) -> Fit:
    """As for every column; text is made of any value, as a column may have had another type."""
    return _text if kind == "string" else fit_for(kind)


def _text(value: Any) -> str:
    plain = msgspec.to_builtins(value)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
