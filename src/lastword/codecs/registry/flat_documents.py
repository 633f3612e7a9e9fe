"""JSON Schemas that msgspec can check while it decodes: flat objects, every member required.

It is at least as strict as the schema: what it refuses may still be valid (a member that the
schema does not name, ``1.0`` for an integer), and must be checked by the schema itself.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

import msgspec

_SCALARS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": None,
}
# Members of a schema that allow and forbid nothing.
_NOTES = {"$schema", "$id", "$comment", "title", "description", "default", "examples"}
_OF_OBJECT = _NOTES | {"type", "properties", "required", "additionalProperties"}
_OF_MEMBER = _NOTES | {"type"}


def flat_decoder(schema: Any, ignored: str) -> Callable[[bytes], Any] | None:
    """What decodes documents of the schema into Structs; None for a schema that says more.

    ``ignored`` is one more member of a schema that allows and forbids nothing.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    members, required = schema.get("properties"), schema.get("required")
    if not isinstance(members, dict) or not members or not isinstance(required, list):
        return None
    known = schema.keys() <= _OF_OBJECT | {ignored}
    if not known or set(map(str, required)) != members.keys() or not all(map(_is_name, members)):
        return None
    types = [_type_of(each) for each in members.values()]
    if _OTHER in types:
        return None
    fields = list(zip(members, types, strict=True))
    made = msgspec.defstruct("Document", fields, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(made).decode


_OTHER = object()


def _type_of(schema: Any) -> Any:
    if not isinstance(schema, dict) or not schema.keys() <= _OF_MEMBER:
        return _OTHER
    kind = schema.get("type")
    return _SCALARS.get(kind, _OTHER) if isinstance(kind, str) else _OTHER


def _is_name(text: str) -> bool:
    """Whether it can be an attribute of a Struct."""
    return text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("_")
