"""JSON Schemas and documents at random: documents that often fit their schema, and often just not.

Plain random numbers instead of strategies: a property needs thousands of documents in a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

NAMES = ("a", "b", "long name", "Übung", "a.b")
TEXTS = (
    "",
    "a",
    "éé",
    "😀",
    "a😀é",
    'say "hi"\n',
    "\\",
    "\u2028",
    "A" * 9,
    "red",
    "x" * 300,
    "\x7f",
)
NUMBERS = (0, 1, -1, 3, 7, 10**18, 2**53, 2**53 + 1, -(2**63), 2**70)
REALS = (0.5, 7.5, 1.0, -0.0, 1e22, 1e300, 5e-324, 0.1, 0.30000000000000004)
BOUNDS = (-7, 0, 1, 7.5, 0.1, 2**53)
NULL = {"type": "null"}
DEFINITIONS: dict[str, Any] = {
    "color": {"type": "string", "enum": ["red", "éé"]},
    "maybe": {"type": ["string", "null"], "maxLength": 2},
    "tree": {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"$ref": "#/$defs/tree"}, NULL]},
            "b": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
        "additionalProperties": False,
    },
}


class RandomDocuments:
    """Schemas, and documents for them, by one seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def schema(self) -> Any:
        """A schema; an object, as nearly all are."""
        return {**self._object_schema(0), "$defs": DEFINITIONS}

    def document(self, schema: Any, depth: int = 0) -> Any:
        """A document that fits the schema, unless chance has it otherwise."""
        if self._random.random() < 0.04 or depth > 6 or not isinstance(schema, dict):
            return self._anything(depth)
        if "$ref" in schema:
            return self.document(DEFINITIONS[schema["$ref"].rpartition("/")[2]], depth + 1)
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            return self.document(self._one(branches), depth + 1)
        if "enum" in schema or "const" in schema:
            return self._one(schema.get("enum", [schema.get("const")]))
        return self._of_type(schema, depth)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kinds = schema.get("type", ["string", "number", "null"])
        kind = self._one(kinds) if isinstance(kinds, list) else kinds
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = schema.get("items", True)
            return [self.document(items, depth + 1) for _ in range(self._random.randrange(4))]
        return self._scalar(kind)

    def text(self, document: Any) -> bytes:
        """The document as one of several writers writes it."""
        if self._chance():
            return msgspec.json.encode(document)
        ascii_only, indent = self._chance(), self._one([None, None, 1])
        return json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()

    def _one(self, choices: Any) -> Any:
        return self._random.choice(choices)

    def _chance(self) -> bool:
        return self._random.random() < 0.5

    def _some(self, **members: Callable[[], Any]) -> dict[str, Any]:
        return {name: make() for name, make in members.items() if self._random.random() < 0.4}

    def _schema(self, depth: int) -> Any:
        makers = [self._scalar_schema] * 3
        if depth < 4:
            makers += [self._object_schema, self._array_schema, self._union_schema]
        return self._one(makers)(depth)

    def _scalar_schema(self, _: int) -> Any:
        bound, size = (lambda: self._one(BOUNDS)), (lambda: self._random.randrange(4))
        bounds = self._some(
            minimum=bound, maximum=bound, exclusiveMinimum=bound, exclusiveMaximum=bound
        )
        lengths = self._some(minLength=size, maxLength=size)
        notes = self._some(title=lambda: "a", format=lambda: "date-time")
        listed = [self._one([*TEXTS, None]) for _ in range(3)]
        return self._one(
            [
                {"type": self._one(["string", ["string", "null"]])} | lengths,
                {"type": self._one(["integer", "number", ["integer", "null"]])} | bounds,
                {"type": self._one(["integer", "number", ["number", "string"]])},
                {"type": self._one(["boolean", "null", "string"])} | notes,
                self._one([{"enum": listed}, {"type": "string", "const": self._one(TEXTS)}]),
                self._one([True, lengths | bounds]),
                {"$ref": f"#/$defs/{self._one(list(DEFINITIONS))}"},
            ]
        )

    def _object_schema(self, depth: int) -> Any:
        names = self._random.sample(NAMES, self._random.randrange(1, len(NAMES)))
        more = self._one([True, False, self._schema(depth + 1)])
        members = {name: self._schema(depth + 1) for name in names}
        required = {"required": self._random.sample(names, self._random.randrange(len(names) + 1))}
        kind = self._one(["object", ["object", "null"]])
        return {"type": kind, "properties": members, "additionalProperties": more} | required

    def _array_schema(self, depth: int) -> Any:
        sizes = self._some(minItems=lambda: 1, maxItems=lambda: self._random.randrange(1, 4))
        return {"type": "array", "items": self._schema(depth + 1)} | sizes

    def _union_schema(self, depth: int) -> Any:
        branches = [self._schema(depth + 1), NULL]
        self._random.shuffle(branches)
        return {self._one(["anyOf", "oneOf"]): branches}

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        members = schema.get("properties", {})
        more = schema.get("additionalProperties", True)
        names = {*schema.get("required", ()), *(name for name in members if self._chance())}
        if more is not False and self._chance():
            names.add(self._one(NAMES))
        order = sorted(names)
        self._random.shuffle(order)
        return {name: self.document(members.get(name, more), depth + 1) for name in order}

    def _scalar(self, kind: str) -> Any:
        if kind == "string":
            return self._one(TEXTS)
        if kind == "boolean":
            return self._chance()
        if kind == "null":
            return None
        whole = self._one([self._one(NUMBERS), self._random.randrange(-20, 20)])
        real = self._one([self._one(REALS), self._random.uniform(-20, 20)])
        return whole if kind == "integer" or self._chance() else real

    def _anything(self, depth: int) -> Any:
        kind = self._random.randrange(6 if depth < 5 else 4)
        if kind == 4:
            return [self._anything(depth + 1) for _ in range(self._random.randrange(3))]
        if kind == 5:
            return {self._one(NAMES): self._anything(depth + 1) for _ in range(2)}
        return self._scalar(("string", "number", "boolean", "null")[kind])
