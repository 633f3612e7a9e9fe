"""JSON Schemas as plans: what the native module needs to read and check documents in one pass.

A plan is at least as strict as its schema. What it refuses may still be valid (``1.0`` for an
integer, a name with escapes), and must be checked by the schema itself.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

from lastword.native import NATIVE

NULL, BOOLEAN, INTEGER, REAL, STRING, OBJECT, ARRAY = (1 << bit for bit in range(7))
_ALL = (1 << 7) - 1
_KINDS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "number": INTEGER | REAL,
    "string": STRING,
    "object": OBJECT,
    "array": ARRAY,
}
_NO_NODE = -1
_NO_LIMIT = sys.maxsize

DEPTH_MAX = 30
NODES_MAX = 2000
FIELDS_MAX = 256
REQUIRED_MAX = 64

# Members of a schema that allow and forbid nothing; the second ones since draft 2019-09 only.
_NOTES = frozenset(
    (
        "$comment",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
    )
)
_LATER_NOTES = frozenset(["format", "contentEncoding", "contentMediaType", "contentSchema"])
_ROOT_NOTES = frozenset(("$schema", "$id"))
_NOTE_PREFIXES = ("x-", "connect.")
_CHECKED = frozenset(
    (
        "type",
        "enum",
        "const",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
    )
)
_LATER_DRAFTS = (
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)


class PlanField(NamedTuple):
    """A member by its name, also as it stands in a document, and the index of its node."""

    name: str
    quoted: bytes
    node: int


class PlanNode(NamedTuple):
    """What a part of a document may be, in the order in which native/document_plan.c takes it.

    ``then`` is the node that decides about values of other kinds than ``kinds``. The first
    ``required`` fields are required. ``others`` is the node of members that are not fields.
    """

    kinds: int = _ALL
    then: int = _NO_NODE
    min_length: int = 0
    max_length: int = _NO_LIMIT
    options: tuple[bytes, ...] | None = None
    low: float = -math.inf
    low_is_open: bool = False
    high: float = math.inf
    high_is_open: bool = False
    fields: tuple[PlanField, ...] = ()
    required: int = 0
    others: int = _NO_NODE
    items: int = _NO_NODE
    min_items: int = 0
    max_items: int = _NO_LIMIT


def native_documents(schema: Any) -> Any:
    """What reads documents of the schema natively; None if it cannot, or without the module."""
    make = getattr(NATIVE, "Documents", None)
    plan = None if make is None else document_plan(schema)
    return None if make is None or plan is None else make(plan)


def document_plan(schema: Any) -> list[PlanNode] | None:
    """The nodes, the root first; None for a schema that says more than a plan can."""
    try:
        return _Plan(schema).nodes
    except _SaysMoreError:
        return None


class _SaysMoreError(Exception):
    """A plan cannot say this."""


class _Plan:
    def __init__(self, root: Any) -> None:
        self._root = root
        draft = root.get("$schema", _LATER_DRAFTS[0]) if isinstance(root, dict) else None
        later = isinstance(draft, str) and draft.removesuffix("#") in _LATER_DRAFTS
        self._notes = _NOTES | _LATER_NOTES if later else _NOTES
        self._referred: dict[str, int] = {}
        self._any: int | None = None
        self.nodes: list[PlanNode] = []
        self._reserve()
        self.nodes[0] = PlanNode(kinds=0, then=self._node(root, 0))

    def _reserve(self) -> int:
        """The index of a node that is filled in later: it may refer to itself."""
        if len(self.nodes) >= NODES_MAX:
            raise _SaysMoreError
        self.nodes.append(PlanNode())
        return len(self.nodes) - 1

    def _add(self, node: PlanNode) -> int:
        index = self._reserve()
        self.nodes[index] = node
        return index

    def _anything(self) -> int:
        if self._any is None:
            self._any = self._reserve()
            self.nodes[self._any] = PlanNode(others=self._any, items=self._any)
        return self._any

    def _node(self, schema: Any, depth: int) -> int:
        if schema is True:
            return self._anything()
        if not isinstance(schema, dict) or depth > DEPTH_MAX:
            raise _SaysMoreError
        stated = {name for name in schema if not self._is_note(name, is_root=schema is self._root)}
        if stated <= _CHECKED:
            return self._add(self._checked(schema, depth))
        if stated == {"$ref"}:
            return self._reference(schema["$ref"], depth)
        for union in ("anyOf", "oneOf"):
            if stated == {union}:
                return self._nullable(schema[union], depth, exactly_one=union == "oneOf")
        raise _SaysMoreError

    def _is_note(self, name: str, *, is_root: bool) -> bool:
        known = name in self._notes or (is_root and name in _ROOT_NOTES)
        return known or name.startswith(_NOTE_PREFIXES)

    def _reference(self, reference: Any, depth: int) -> int:
        if not isinstance(reference, str):
            raise _SaysMoreError
        if reference not in self._referred:
            self._referred[reference] = index = self._reserve()
            then = self._node(_found(self._root, reference), depth + 1)
            self.nodes[index] = PlanNode(kinds=0, then=then)
        return self._referred[reference]

    def _nullable(self, branches: Any, depth: int, *, exactly_one: bool) -> int:
        """Null or something else; other unions are left to the schema."""
        others = [each for each in branches if each != {"type": "null"}]
        if len(branches) != 2 or len(others) != 1:
            raise _SaysMoreError
        if exactly_one and not _refuses_null(self._root, others[0]):
            raise _SaysMoreError
        return self._add(PlanNode(kinds=NULL, then=self._node(others[0], depth + 1)))

    def _checked(self, schema: dict[str, Any], depth: int) -> PlanNode:
        low, low_is_open = _bound(schema, "minimum", "exclusiveMinimum", -1)
        high, high_is_open = _bound(schema, "maximum", "exclusiveMaximum", 1)
        kinds, options = _options(schema, _kinds(schema.get("type")))
        fields, required, others = self._members(schema, depth) if kinds & OBJECT else ((), 0, -1)
        return PlanNode(
            kinds=kinds,
            min_length=_size(schema, "minLength", 0),
            max_length=_size(schema, "maxLength", _NO_LIMIT),
            options=options,
            low=low,
            low_is_open=low_is_open,
            high=high,
            high_is_open=high_is_open,
            fields=fields,
            required=required,
            others=others,
            items=self._node(schema.get("items", True), depth + 1) if kinds & ARRAY else _NO_NODE,
            min_items=_size(schema, "minItems", 0),
            max_items=_size(schema, "maxItems", _NO_LIMIT),
        )

    def _members(
        self, schema: dict[str, Any], depth: int
    ) -> tuple[tuple[PlanField, ...], int, int]:
        """The fields, how many of them are required, and the node of other members."""
        properties, required = schema.get("properties", {}), schema.get("required", [])
        more = schema.get("additionalProperties", True)
        others = _NO_NODE if more is False else self._node(more, depth + 1)
        if not isinstance(properties, dict) or not isinstance(required, list):
            raise _SaysMoreError
        first = dict.fromkeys(required)
        names = [*first, *(name for name in properties if name not in first)]
        if len(first) > REQUIRED_MAX or len(names) > FIELDS_MAX:
            raise _SaysMoreError
        nodes = [
            self._node(properties[name], depth + 1) if name in properties else others
            for name in names
        ]
        if _NO_NODE in nodes:  # required, and forbidden
            raise _SaysMoreError
        fields = (
            PlanField(name, _quoted(name), node) for name, node in zip(names, nodes, strict=True)
        )
        return tuple(fields), len(first), others


def _found(root: Any, reference: str) -> Any:
    """The part of the schema that a reference within it names."""
    if not reference.startswith("#/") or "~" in reference or "%" in reference:
        raise _SaysMoreError
    found = root
    for step in reference[2:].split("/"):
        if not isinstance(found, dict) or step not in found:
            raise _SaysMoreError
        found = found[step]
    return found


def _refuses_null(root: Any, schema: Any) -> bool:
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        schema = _found(root, schema["$ref"])
    kinds = schema.get("type") if isinstance(schema, dict) else None
    return kinds is not None and kinds != "null" and "null" not in kinds


def _kinds(stated: Any) -> int:
    if stated is None:
        return _ALL
    kinds = 0
    for name in stated if isinstance(stated, list) else [stated]:
        if not isinstance(name, str) or name not in _KINDS:
            raise _SaysMoreError
        kinds |= _KINDS[name]
    return kinds


def _options(schema: dict[str, Any], kinds: int) -> tuple[int, tuple[bytes, ...] | None]:
    """The kinds that the values listed leave, and the strings among them."""
    if "enum" not in schema and "const" not in schema:
        return kinds, None
    values = schema.get("enum", [schema.get("const")])
    both = "enum" in schema and "const" in schema
    if (
        both
        or not isinstance(values, list)
        or not all(isinstance(each, str | None) for each in values)
    ):
        raise _SaysMoreError
    texts = tuple(_utf8(each) for each in values if each is not None)
    return kinds & ((STRING if texts else 0) | (NULL if None in values else 0)), texts


def _bound(schema: dict[str, Any], closed: str, opened: str, sign: int) -> tuple[float, bool]:
    """The bound of numbers, and whether it is itself outside; a ``sign`` of 1 is the upper one."""
    stated = [
        (_number(schema[name]), name == opened) for name in (closed, opened) if name in schema
    ]
    # The strictest: of two equal ones the open one.
    return min(
        stated, key=lambda each: (sign * each[0], not each[1]), default=(sign * math.inf, False)
    )


def _number(stated: Any) -> float:
    """A number that a float holds exactly."""
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        raise _SaysMoreError
    if not abs(stated) <= 1 << 53:
        raise _SaysMoreError
    return float(stated)


def _size(schema: dict[str, Any], name: str, default: int) -> int:
    stated = schema.get(name, default)
    if isinstance(stated, bool) or not isinstance(stated, int) or not 0 <= stated <= _NO_LIMIT:
        raise _SaysMoreError
    return stated


def _quoted(name: Any) -> bytes:
    """The name in quotes; it must be without characters that JSON escapes."""
    if not isinstance(name, str) or any(each in '"\\' or each < " " for each in name):
        raise _SaysMoreError
    return b'"%b"' % _utf8(name)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _SaysMoreError from error
