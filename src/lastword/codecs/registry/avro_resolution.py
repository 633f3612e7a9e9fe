"""Which part of a reader's Avro schema reads which part of the writer's.

It covers what most changes of a schema need: fields that are new, gone or in another order, and
numbers that became floats. Anything else is left to fastavro, which knows all rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_PRIMITIVES = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
_FLOATS = ("float", "double")
_DEFAULTS = {"null": type(None), "boolean": bool, "int": int, "long": int, "string": str}


class UncoveredSchema(Exception):  # noqa: N818 - not an error: fastavro reads such a schema
    """The pair of schemas needs rules that are not here."""


@dataclass
class PairedType:
    """A type of the writer as the reader sees it.

    ``logical`` is fastavro's name for a logical type. A ``skipped`` value is read and dropped;
    a ``promoted`` number becomes a float.
    """

    kind: str
    writer: Any
    logical: str | None = None
    skipped: bool = False
    promoted: bool = False
    fields: list[PairedField] = field(default_factory=list)
    defaults: list[tuple[str, Any]] = field(default_factory=list)
    branches: list[PairedType] = field(default_factory=list)
    items: list[PairedType] = field(default_factory=list)

    @property
    def inner(self) -> PairedType:
        """The type of the items of an array, or of the values of a map."""
        return self.items[0]


@dataclass
class PairedField:
    """A field that was written; its name is None if the reader does not have it."""

    name: str | None
    pair: PairedType


def pair_of(writer: Any, reader: Any) -> PairedType:
    """How documents of ``writer`` are read as ``reader``, or as they were written for None.

    Raises UncoveredSchema.
    """
    return _Pairing(_named_in(writer), _named_in(reader)).of(writer, reader)


def _named_in(parsed: Any) -> dict[str, Any]:
    if isinstance(parsed, list):
        return {name: one for each in parsed for name, one in _named_in(each).items()}
    return dict(parsed.get("__named_schemas", {})) if isinstance(parsed, dict) else {}


class _Pairing:
    def __init__(self, writers: dict[str, Any], readers: dict[str, Any]) -> None:
        self._writers = writers
        self._readers = readers
        self._left = 2000

    def of(self, writer: Any, reader: Any, *, skipped: bool = False) -> PairedType:
        self._left -= 1
        if not self._left:
            raise UncoveredSchema
        writer = self._writers.get(writer, writer) if isinstance(writer, str) else writer
        reader = self._readers.get(reader, reader) if isinstance(reader, str) else reader
        if isinstance(writer, list):
            return self._union(writer, reader, skipped=skipped)
        if isinstance(reader, list):
            return self._in_union(writer, reader)
        kind = writer if isinstance(writer, str) else writer["type"]
        if not isinstance(kind, str):
            raise UncoveredSchema  # a type in a type
        if kind in _PRIMITIVES or kind in ("fixed", "enum"):
            return _simple(kind, writer, reader, skipped=skipped)
        other = None if reader is None else _kind_of(reader)
        if other not in (None, kind):
            raise UncoveredSchema
        if kind in ("record", "error"):
            return self._record(kind, writer, reader, skipped=skipped)
        if kind in ("array", "map"):
            member = "items" if kind == "array" else "values"
            inner = self.of(writer[member], reader and reader[member], skipped=skipped)
            return PairedType(kind, writer, skipped=skipped, items=[inner])
        raise UncoveredSchema

    def _record(self, kind: str, writer: Any, reader: Any, *, skipped: bool) -> PairedType:
        found = PairedType(kind, writer, skipped=skipped)
        if reader is None:
            found.fields = [
                PairedField(each["name"], self.of(each["type"], None, skipped=skipped))
                for each in writer["fields"]
            ]
            return found
        if writer["name"] != reader["name"]:
            raise UncoveredSchema
        wanted = {each["name"]: each for each in reader["fields"]}
        if any(each.get("aliases") for each in wanted.values()):
            raise UncoveredSchema
        for each in writer["fields"]:
            other = wanted.pop(each["name"], None)
            if other is None:
                found.fields.append(PairedField(None, self.of(each["type"], None, skipped=True)))
            else:
                found.fields.append(PairedField(each["name"], self.of(each["type"], other["type"])))
        found.defaults = [(name, _default(each)) for name, each in wanted.items()]
        return found

    def _union(self, writer: list[Any], reader: Any, *, skipped: bool) -> PairedType:
        others: Any = [None] * len(writer)
        if reader is not None:
            if not isinstance(reader, list) or [*map(_name_of, reader)] != [*map(_name_of, writer)]:
                raise UncoveredSchema
            others = reader
        branches = [
            self.of(one, other, skipped=skipped) for one, other in zip(writer, others, strict=True)
        ]
        return PairedType("union", writer, skipped=skipped, branches=branches)

    def _in_union(self, writer: Any, reader: list[Any]) -> PairedType:
        """A primitive type that the reader has in a union: it became optional."""
        if isinstance(writer, str) and writer in _PRIMITIVES and writer in map(_kind_of, reader):
            return _simple(writer, writer, writer, skipped=False)
        raise UncoveredSchema


def _simple(kind: str, writer: Any, reader: Any, *, skipped: bool) -> PairedType:
    logical = writer.get("logicalType") if isinstance(writer, dict) else None
    found = PairedType(kind, writer, f"{kind}-{logical}" if logical else None, skipped=skipped)
    if reader is None or _plain(reader) == _plain(writer):
        return found
    if kind in ("int", "long") and not logical and reader in ("long", *_FLOATS):
        found.promoted = reader in _FLOATS
        return found
    if (kind, reader) == ("float", "double"):
        return found
    raise UncoveredSchema


def _plain(schema: Any) -> Any:
    """A simple type without fastavro's own marks; int with no more than a type is "int"."""
    if not isinstance(schema, dict):
        return schema
    found = {name: each for name, each in schema.items() if not name.startswith("__")}
    return found["type"] if len(found) == 1 else found


def _kind_of(schema: Any) -> Any:
    if isinstance(schema, dict):
        return schema["type"]
    return schema if isinstance(schema, str) else "union"


def _name_of(schema: Any) -> Any:
    """What tells the branches of a union apart: a type, or the name of a named one."""
    if isinstance(schema, dict):
        return schema.get("name", schema["type"])
    return schema


def _default(field: Any) -> Any:
    """The default of a field that was not written, if it is a simple one."""
    kind = field["type"][0] if isinstance(field["type"], list) else field["type"]
    if "default" not in field or not isinstance(kind, str):
        raise UncoveredSchema
    default = field["default"]
    expected = _DEFAULTS.get(kind)
    if expected is None or not isinstance(default, expected):
        raise UncoveredSchema
    return default
