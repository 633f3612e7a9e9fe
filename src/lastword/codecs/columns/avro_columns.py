"""The column type of an Avro schema, as fastavro parsed it."""

from __future__ import annotations

from typing import Any

from lastword.codecs.columns.type_tree import (
    JSON,
    ColumnType,
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


def avro_columns(parsed: Any) -> ColumnType:
    """The type of a column of such values; JSON text for a union of several types."""
    named = parsed.get("__named_schemas", {}) if isinstance(parsed, dict) else {}
    return _AvroColumns(dict(named)).of(parsed)


class _AvroColumns:
    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._limits = PartLimits()
        self._open: set[str] = set()

    def of(self, schema: Any) -> ColumnType:
        return self._limits.part(lambda: self._made(schema))

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
            return decimal_of(schema["precision"], schema.get("scale", 0))
        if logical in _LOGICAL:
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
