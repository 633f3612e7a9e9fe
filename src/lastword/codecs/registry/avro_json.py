"""Converts JSON to values of an Avro schema, for types that JSON lacks."""

from __future__ import annotations

import base64
import datetime
import decimal
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lastword.errors import EncodeError

_TYPES: Mapping[str, Any] = {
    "string": str,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": bool,
    "null": type(None),
    "bytes": bytes,
    "fixed": bytes,
    "enum": str,
}
_LOGICAL: Mapping[str, Any] = {
    "timestamp-millis": datetime.datetime,
    "timestamp-micros": datetime.datetime,
    "local-timestamp-millis": datetime.datetime,
    "local-timestamp-micros": datetime.datetime,
    "date": datetime.date,
    "time-millis": datetime.time,
    "time-micros": datetime.time,
    "decimal": decimal.Decimal,
    "uuid": uuid.UUID,
}


def to_avro(schema: Any, document: bytes) -> Any:
    """The value for fastavro to write with the parsed ``schema``; raises EncodeError."""
    try:
        value = msgspec.json.decode(document)
    except (ValueError, RecursionError) as error:
        raise EncodeError(f"the value is not JSON: {error}") from error
    try:
        return _Shaping(schema).shaped(schema, value)
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodeError(
            f"the value does not fit the schema: {error}", hint="see the schema in the registry"
        ) from error


class _Shaping:
    """Walks a schema and a value side by side; named types may refer to themselves."""

    def __init__(self, schema: Any) -> None:
        named = schema.get("__named_schemas", {}) if isinstance(schema, dict) else {}
        self._named: dict[str, Any] = dict(named)

    def shaped(self, schema: Any, value: Any) -> Any:
        """The value in the form that fastavro accepts."""
        if isinstance(schema, list):
            return self._first_that_fits(schema, value)
        if isinstance(schema, str):
            if schema in _TYPES:
                return _plain(_TYPES[schema], value)
            return self.shaped(self._named[schema], value) if schema in self._named else value
        if "name" in schema:
            self._named[schema["name"]] = schema
        walk = self._walks().get(schema["type"])
        if walk is not None:
            return walk(schema, value)
        logical = _LOGICAL.get(schema.get("logicalType", ""))
        return _plain(logical or _TYPES.get(schema["type"], Any), value)

    def _walks(self) -> dict[Any, Callable[[Any, Any], Any]]:
        return {
            "record": self._record,
            "error": self._record,
            "array": self._array,
            "map": self._map,
        }

    def _record(self, schema: Any, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{schema['name']} must be an object, not {type(value).__name__}")
        fields = {field["name"]: field["type"] for field in schema["fields"]}
        if unknown := sorted(value.keys() - fields.keys()):
            raise ValueError(f"{schema['name']} has no field {unknown[0]!r}")
        return {name: self.shaped(fields[name], each) for name, each in value.items()}

    def _array(self, schema: Any, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"expected a list, not {type(value).__name__}")
        return [self.shaped(schema["items"], each) for each in value]

    def _map(self, schema: Any, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, not {type(value).__name__}")
        return {name: self.shaped(schema["values"], each) for name, each in value.items()}

    def _first_that_fits(self, branches: list[Any], value: Any) -> Any:
        for branch in branches:
            try:
                return self.shaped(branch, value)
            except (ValueError, TypeError):
                continue
        raise ValueError(f"{value!r:.100} fits no type of its union")


def _plain(kind: Any, value: Any) -> Any:
    if kind is bytes:
        if not isinstance(value, str):
            raise ValueError("bytes must be in base64")
        return base64.b64decode(value, validate=True)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return msgspec.convert(value, kind, strict=not issubclass(kind, decimal.Decimal))
