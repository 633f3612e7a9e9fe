"""Classes whose values a typed codec reads and writes: msgspec Structs, dataclasses, pydantic."""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from lastword.errors import ConfigError


class ValueType(Protocol):
    """One class: from JSON and plain documents to its values and back.

    Reading raises ValueError for what does not fit, writing also TypeError.
    """

    type: type[Any]
    sees_unknown: bool
    """Whether a member that is no field does anything: refuse the document, or become a part."""

    def from_json(self, document: bytes) -> Any:
        """The value of a JSON document."""

    def from_msgpack(self, document: bytes) -> Any:
        """The value of a msgpack document."""

    def from_document(self, document: Any) -> Any:
        """The value of a document in plain Python."""

    def to_json(self, value: Any) -> bytes:
        """The JSON document of a value."""

    def to_msgpack(self, value: Any) -> bytes:
        """The msgpack document of a value."""

    def to_document(self, value: Any) -> Any:
        """The document of a value, in what msgpack can hold."""

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the documents.

        It is closed: a value has no other members than its fields. Otherwise a registry could
        accept no new field, because an old document might hold anything under that name.
        """


def require_importable(kind: type[Any]) -> None:
    """Raise ConfigError for a class that another process cannot import.

    Spark would copy it there: a Struct arrives without its fields, and reads every document as
    an empty one.
    """
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if kind.__module__ == "__main__" or found is not kind:
        raise ConfigError(
            f"Spark's executors cannot import {kind.__qualname__} of {kind.__module__}",
            hint="define the class in a module, and import it",
        )


class MsgspecType:
    """A Struct, by msgspec; it says itself whether it forbids unknown fields."""

    def __init__(self, type: type[Any]) -> None:
        self.type = type
        config = getattr(type, "__struct_config__", None)
        self.sees_unknown = bool(config is not None and config.forbid_unknown_fields)
        self.from_json: Callable[[bytes], Any] = msgspec.json.Decoder(type).decode
        self.from_msgpack: Callable[[bytes], Any] = msgspec.msgpack.Decoder(type).decode
        self.to_json: Callable[[Any], bytes] = msgspec.json.Encoder().encode
        self.to_msgpack: Callable[[Any], bytes] = msgspec.msgpack.Encoder().encode

    def from_document(self, document: Any) -> Any:
        """The value; a text in the document may be a time, a UUID or a decimal."""
        return msgspec.convert(document, self.type)

    def to_document(self, value: Any) -> Any:
        """The value with its bytes and times kept as they are."""
        return msgspec.to_builtins(value, builtin_types=(bytes, bytearray, datetime.datetime))

    def json_schema(self) -> dict[str, Any]:
        """As msgspec describes the class, with nested ones under ``$defs``."""
        (shown,), parts = msgspec.json.schema_components([self.type], ref_template="#/$defs/{name}")
        name = str(shown.get("$ref", "")).rpartition("/")[2]
        found = parts.pop(name) if name in parts and not _refers(parts, name) else shown
        described = dict(found)
        described.setdefault("title", self.type.__name__)
        return _closed(described | ({"$defs": parts} if parts else {}))


class DataclassType(MsgspecType):
    """A dataclass. msgspec writes only the fields that are set on the object itself, and what it
    reads leaves defaults to the class: equal values would have different bytes."""

    def __init__(self, type: type[Any]) -> None:
        super().__init__(type)
        as_json, as_msgpack = self.to_json, self.to_msgpack
        self.to_json = lambda value: as_json(dataclasses.asdict(value))
        self.to_msgpack = lambda value: as_msgpack(dataclasses.asdict(value))

    def to_document(self, value: Any) -> Any:
        """Every field."""
        return super().to_document(dataclasses.asdict(value))


class PydanticType:
    """A pydantic model, by its own methods: its configuration decides about unknown fields."""

    def __init__(self, type: Any) -> None:
        self.type = type
        self.sees_unknown = type.model_config.get("extra") in ("forbid", "allow")
        self.from_json: Callable[[bytes], Any] = type.model_validate_json

    def from_msgpack(self, document: bytes) -> Any:
        """As from JSON."""
        return self.from_document(msgspec.msgpack.decode(document))

    def from_document(self, document: Any) -> Any:
        """As from JSON: a text may be a time."""
        return self.from_json(msgspec.json.encode(document))

    def to_json(self, value: Any) -> bytes:
        """The document by alias, as it is read."""
        text: str = value.model_dump_json(by_alias=True)
        return text.encode()

    def to_msgpack(self, value: Any) -> bytes:
        """What its JSON holds."""
        return msgspec.msgpack.encode(self.to_document(value))

    def to_document(self, value: Any) -> Any:
        """What its JSON holds."""
        return value.model_dump(mode="json", by_alias=True)

    def json_schema(self) -> dict[str, Any]:
        """As pydantic describes the model."""
        return _closed(self.type.model_json_schema(by_alias=True))


def is_value_type(spec: Any) -> bool:
    """Whether a typed codec can be made of it."""
    return isinstance(spec, type) and (
        issubclass(spec, msgspec.Struct) or dataclasses.is_dataclass(spec) or _is_pydantic(spec)
    )


def value_type(spec: type[Any]) -> ValueType:
    """How to read and write values of the class; raises ConfigError for any other class."""
    if not is_value_type(spec):
        raise ConfigError(
            f"{spec!r} is not a class that describes a value",
            hint="give a msgspec Struct, a dataclass or a pydantic model",
        )
    if _is_pydantic(spec):
        return PydanticType(spec)
    return DataclassType(spec) if dataclasses.is_dataclass(spec) else MsgspecType(spec)


def _is_pydantic(spec: Any) -> bool:
    return hasattr(spec, "model_validate_json") and hasattr(spec, "model_config")


def _closed(described: dict[str, Any]) -> dict[str, Any]:
    for each in (described, *described.get("$defs", {}).values()):
        if "properties" in each:
            each.setdefault("additionalProperties", False)
    return described


def _refers(parts: Any, name: str) -> bool:
    return f'"#/$defs/{name}"' in msgspec.json.encode(parts).decode()
