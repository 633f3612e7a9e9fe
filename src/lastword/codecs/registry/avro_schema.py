"""What a parsed Avro schema allows a record to do: nest without end, or fill the memory.

fastavro reads in native code and without limits. A record of a schema that refers to itself may
be nested so deeply that the native stack overflows, which ends the process. An array whose items
have no bytes, or fewer than none, may claim any number of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_NAMED = ("record", "error", "enum", "fixed")
_UNSIZED = 0
_SIZED = 1


class AvroSchema(NamedTuple):
    """A schema as fastavro parsed it, and whether it refers to itself."""

    parsed: Any
    recursive: bool


def refers_to_itself(parsed: Any, named: dict[str, Any]) -> bool:
    """Whether the schema does; raises ValueError for one that must not be read.

    ``named`` are the types that it and its references define.
    """
    walk = _Walk(named)
    walk.least_bytes(parsed)
    return walk.recursive


class _Walk:
    """Visits every type once and finds the fewest bytes that its values have: 0, or more."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._done: dict[str, int] = {}
        self._open: set[str] = set()
        self.recursive = False

    def least_bytes(self, schema: Any) -> int:
        if isinstance(schema, str):
            return self._by_name(schema)
        if isinstance(schema, list):
            for branch in schema:
                self.least_bytes(branch)
            return _SIZED  # the index of the branch
        kind = schema["type"]
        if kind == "array":
            if self.least_bytes(schema["items"]) == _UNSIZED:
                raise ValueError("an array of items that have no bytes could be of any length")
            return _SIZED
        if kind == "map":
            self.least_bytes(schema["values"])
            return _SIZED
        if kind in _NAMED:
            return self._define(schema)
        return self.least_bytes(kind)

    def _by_name(self, name: str) -> int:
        if name in self._open:
            self.recursive = True
            return _SIZED
        if name in self._done:
            return self._done[name]
        if name in self._named:
            return self._define(self._named[name])
        return _UNSIZED if name == "null" else _SIZED

    def _define(self, schema: Any) -> int:
        name = schema["name"]
        self._open.add(name)
        if schema["type"] == "enum":
            least = _SIZED
        elif schema["type"] == "fixed":
            if schema["size"] < 0:
                raise ValueError("a fixed type of less than no bytes could be read without end")
            least = min(schema["size"], _SIZED)
        else:
            least = max((self.least_bytes(each["type"]) for each in schema["fields"]), default=0)
        self._open.discard(name)
        self._done[name] = least
        return least
