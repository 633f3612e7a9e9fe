"""From JSON to values of a Protobuf message: what JSON has no type for, by the message's."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lastword.codecs.registry.proto_values import TIMESTAMP

_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_INTEGERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)
_BOOLEANS = {"true": True, "false": False}


def to_message(descriptor: Descriptor, document: bytes) -> Any:
    """What the message's class takes; raises ValueError for what is no JSON or does not fit."""
    return _message(descriptor, msgspec.json.decode(document))


def _message(descriptor: Descriptor, value: Any) -> Any:
    if descriptor.full_name == TIMESTAMP:
        return msgspec.convert(value, datetime.datetime)
    if not isinstance(value, dict):
        raise ValueError(f"{descriptor.name} is an object, not {type(value).__name__}")
    fields = descriptor.fields_by_name
    if unknown := sorted(value.keys() - fields.keys()):
        raise ValueError(f"{descriptor.name} has no field {unknown[0]!r}")
    return {name: _field(fields[name], each) for name, each in value.items() if each is not None}


def _field(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        if not isinstance(value, dict):
            raise ValueError(f"{field.name} is an object, not {type(value).__name__}")
        key, one = (
            field.message_type.fields_by_name["key"],
            field.message_type.fields_by_name["value"],
        )
        return {_map_key(key, name): _single(one, each) for name, each in value.items()}
    if field.is_repeated:
        if not isinstance(value, list):
            raise ValueError(f"{field.name} is a list, not {type(value).__name__}")
        return [_single(field, each) for each in value]
    return _single(field, value)


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return _message(field.message_type, value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        if not isinstance(value, str):
            raise ValueError(f"{field.name} is bytes, written in base64")
        return base64.b64decode(value, validate=True)
    if field.cpp_type in _FLOATS and isinstance(value, int):
        return float(value)
    return value


def _map_key(key: FieldDescriptor, name: str) -> Any:
    if key.cpp_type in _INTEGERS:
        return int(name)
    return _BOOLEANS.get(name, name) if key.cpp_type == FieldDescriptor.CPPTYPE_BOOL else name
