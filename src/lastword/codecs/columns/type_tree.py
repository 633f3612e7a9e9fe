"""The types that a column can have: what Delta, Arrow and Spark have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

Scalar = Literal[
    "string",
    "boolean",
    "int32",
    "int64",
    "float32",
    "float64",
    "bytes",
    "date",
    "timestamp",
    "timestamp_ntz",
    "enum",
    "json",
]
"""``timestamp`` is a moment, in UTC; ``timestamp_ntz`` is a local time without a zone. ``enum``
and ``json`` are text: a name, and the JSON of a part that has no type of its own."""

JSON: Final[Scalar] = "json"


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Exact numbers with ``scale`` digits after the point."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ListType:
    """Any number of one type."""

    item: ColumnType


@dataclass(frozen=True, slots=True)
class MapType:
    """Keys that are not known beforehand, all of one type."""

    key: ColumnType
    value: ColumnType


@dataclass(frozen=True, slots=True)
class StructType:
    """Fields by name, in order. Every field can be null."""

    fields: tuple[tuple[str, ColumnType], ...]


ColumnType = Scalar | DecimalType | ListType | MapType | StructType

DECIMAL_DIGITS_MAX = 38
# Python's Decimal states neither; this is what Spark makes of one.
PYTHON_DECIMAL = DecimalType(38, 18)

DEPTH_MAX = 30
PARTS_MAX = 2000
# Delta refuses space , ; { } ( ) = and line breaks; a dot or a backtick must be quoted in SQL.
_NAME = re.compile(r"[^\s,;{}()=.`\"'\\\x00-\x1f]{1,200}")


def struct_of(fields: Iterable[tuple[str, ColumnType]]) -> ColumnType:
    """A struct, or JSON text if Delta cannot hold these names: they differ only in case, or have
    characters that a column cannot have. A struct without fields has no columns either."""
    found = tuple(fields)
    names = [name for name, _ in found]
    distinct = len({name.casefold() for name in names}) == len(names)
    if not found or not distinct or not all(map(_NAME.fullmatch, names)):
        return JSON
    return StructType(found)


def decimal_of(precision: int, scale: int) -> ColumnType:
    """A decimal; text if it has more digits than a column can have."""
    fits = 0 < precision <= DECIMAL_DIGITS_MAX and 0 <= scale <= precision
    return DecimalType(precision, scale) if fits else "string"


class PartLimits:
    """Bounds what a schema may grow to: a part that is too deep, or one too many, is JSON text."""

    def __init__(self) -> None:
        self._left = PARTS_MAX
        self._depth = 0

    def part(self, make: Callable[[], ColumnType]) -> ColumnType:
        """The type that ``make`` returns, if the limits allow another part."""
        if not self._left or self._depth >= DEPTH_MAX:
            return JSON
        self._left -= 1
        self._depth += 1
        try:
            return make()
        finally:
            self._depth -= 1
