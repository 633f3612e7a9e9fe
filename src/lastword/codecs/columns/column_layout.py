"""Columns in Arrow's layout, as the native module writes them: bytes, without Arrow itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lastword.codecs.columns.type_tree import ColumnType, ListType, StructType

Layout = tuple[int, int, bytes | None, Sequence[bytes], Sequence[Any]]
"""Rows, nulls, the bits of the rows that are not null, the other buffers, the children."""

# The kinds of native/document_plan.h.
_SCALARS = {"boolean": 2, "int64": 4, "float64": 8, "string": 16}
_OBJECT, _ARRAY = 32, 64

Described = tuple[int, str, tuple[Any, ...]]
"""A column as native/arrow_columns.c takes it: its kind, its name, its children."""


class ColumnLayout(NamedTuple):
    """A batch as a column of ``type``; null at the indexes ``left``, which are to be decoded."""

    type: ColumnType
    layout: Layout
    left: Sequence[int]


def described(kind: ColumnType, name: str = "") -> Described | None:
    """The column; None for a type that JSON does not have, or that contains one."""
    if isinstance(kind, StructType):
        fields = [described(each, field) for field, each in kind.fields]
        return None if None in fields else (_OBJECT, name, tuple(fields))
    if isinstance(kind, ListType):
        item = described(kind.item)
        return None if item is None else (_ARRAY, name, (item,))
    scalar = _SCALARS.get(kind) if isinstance(kind, str) else None
    return None if scalar is None else (scalar, name, ())
