"""The column type of a JSON Schema."""

from __future__ import annotations

from typing import Any

from lastword.codecs.columns.type_tree import (
    JSON,
    PYTHON_DECIMAL,
    ColumnType,
    ListType,
    MapType,
    PartLimits,
    struct_of,
)

_SCALARS: dict[str, ColumnType] = {
    "boolean": "boolean",
    "integer": "int64",
    "number": "float64",
}
_FORMATS: dict[str, ColumnType] = {
    "date-time": "timestamp",
    "date": "date",
    "decimal": PYTHON_DECIMAL,
}
_NULL = {"type": "null"}


def json_columns(described: Any) -> ColumnType:
    """The type of a column of such documents; JSON text where it allows several types."""
    return _JsonColumns(described).of(described)


class _JsonColumns:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._limits = PartLimits()
        self._open: set[str] = set()

    def of(self, schema: Any) -> ColumnType:
        return self._limits.part(lambda: self._made(schema))

    def _made(self, schema: Any) -> ColumnType:
        if not isinstance(schema, dict):
            return JSON  # true and false are schemas, too
        if isinstance(schema.get("$ref"), str):
            return self._referred(schema["$ref"])
        for union in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(union), list):
                branches = [each for each in schema[union] if each != _NULL]
                return self.of(branches[0]) if len(branches) == 1 else JSON
        return self._by_type(schema)

    def _by_type(self, schema: dict[str, Any]) -> ColumnType:
        kinds = schema.get("type")
        named = [each for each in (kinds if isinstance(kinds, list) else [kinds]) if each != "null"]
        kind = named[0] if len(named) == 1 else None
        if kind is None:
            return _of_values(schema.get("enum"))
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            items = schema.get("items")
            return ListType(self.of(items)) if isinstance(items, dict) else JSON
        if kind == "string":
            if schema.get("contentEncoding") == "base64":
                return "bytes"
            form = schema.get("format")
            return _FORMATS.get(form, "string") if isinstance(form, str) else "string"
        return _SCALARS.get(kind, JSON) if isinstance(kind, str) else JSON

    def _object(self, schema: dict[str, Any]) -> ColumnType:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            return struct_of([(name, self.of(each)) for name, each in properties.items()])
        others = schema.get("additionalProperties")
        return MapType("string", self.of(others)) if isinstance(others, dict) else JSON

    def _referred(self, reference: str) -> ColumnType:
        """Only within the document: other references are names that the registry knows."""
        found: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(step) if isinstance(found, dict) else None
        if not reference.startswith("#/") or found is None or reference in self._open:
            return JSON
        self._open.add(reference)
        try:
            return self.of(found)
        finally:
            self._open.discard(reference)


def _of_values(values: Any) -> ColumnType:
    texts = isinstance(values, list) and all(isinstance(each, str | None) for each in values)
    return "string" if texts and any(values) else JSON
