"""The column type of an Avro schema, as fastavro parsed it."""

from __future__ import annotations

from typing import Any, NamedTuple

from lastword.codecs.columns.type_tree import (
    JSON,
    ColumnType,
    DecimalType,
    ListType,
    MapType,
    PartLimits,
    decimal_of,
    struct_of,
)

_SCALARS: dict[str, ColumnType] = {
    "string": "string",
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "bytes": "bytes",
    "fixed": "bytes",
    "enum": "enum",
}
# Delta has no time of day.
_LOGICAL: dict[str, ColumnType] = {
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
    "date": "date",
    "time-millis": "string",
    "time-micros": "string",
    "uuid": "string",
}


# What fastavro decodes to the objects that Arrow takes for the column.
_EXACT_LOGICAL = {
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
    ("int", "date"),
}


class AvroColumn(NamedTuple):
    """The type of a column, and whether Arrow takes the decoded values for it as they are."""

    type: ColumnType
    exact: bool


def avro_column(parsed: Any) -> AvroColumn:
    """The column of such values; JSON text for a union of several types."""
    named = parsed.get("__named_schemas", {}) if isinstance(parsed, dict) else {}
    columns = _AvroColumns(dict(named))
    kind = columns.of(parsed)
    return AvroColumn(kind, columns.exact)


class _AvroColumns:
    def __init__(self, named: dict[str, Any]) -> None:
        self.exact = True
        self._named = named
        self._limits = PartLimits()
        self._open: set[str] = set()

    def of(self, schema: Any) -> ColumnType:
        found = self._limits.part(lambda: self._made(schema))
        if found == JSON or isinstance(found, MapType):
            self.exact = False
        return found

    def _made(self, schema: Any) -> ColumnType:
        if isinstance(schema, list):
            branches = [each for each in schema if each not in ("null", {"type": "null"})]
            return self.of(branches[0]) if len(branches) == 1 else JSON
        if isinstance(schema, str):
            known = _SCALARS.get(schema)
            return known or (self.of(self._named[schema]) if schema in self._named else JSON)
        kind = schema["type"]
        if "name" in schema:
            self._named[schema["name"]] = schema
        if kind in ("record", "error"):
            return self._record(schema)
        if kind == "array":
            return ListType(self.of(schema["items"]))
        if kind == "map":
            return MapType("string", self.of(schema["values"]))
        return self._simple(schema, kind)

    def _simple(self, schema: Any, kind: Any) -> ColumnType:
        logical = schema.get("logicalType")
        if logical == "decimal":
            found = decimal_of(schema["precision"], schema.get("scale", 0))
            self.exact &= isinstance(found, DecimalType) and kind in ("bytes", "fixed")
            return found
        if logical in _LOGICAL:
            self.exact &= (kind, logical) in _EXACT_LOGICAL
            return _LOGICAL[logical]
        return _SCALARS.get(kind, JSON) if isinstance(kind, str) else self.of(kind)

    def _record(self, schema: Any) -> ColumnType:
        name = schema["name"]
        if name in self._open:
            return JSON  # it contains itself
        self._open.add(name)
        try:
            return struct_of([(each["name"], self.of(each["type"])) for each in schema["fields"]])
        finally:
            self._open.discard(name)
