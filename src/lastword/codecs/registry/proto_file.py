"""The messages of one Protobuf schema, built at run time from the text of its file."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.message import DecodeError as Unreadable

from lastword.codecs.registry.proto_path import path_bytes
from lastword.codecs.registry.proto_text import descriptor_of
from lastword.codecs.registry.proto_values import Convert, MessageValues
from lastword.errors import DecodeError

_FILE = "schema.proto"
_WELL_KNOWN = (any_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2,
               timestamp_pb2, wrappers_pb2)  # fmt: skip


class ProtoMessage(NamedTuple):
    """A type of message: its path in the file, its class, and how it looks in Python."""

    indexes: bytes
    type: Any
    value: Convert


class ProtoFile:
    """The messages of one schema, by the path that records carry and by name."""

    def __init__(self, schema: str, imported: Mapping[str, str]) -> None:
        """``imported`` has the files it imports by path, in order; raises ValueError."""
        file = _built(schema, imported)
        self._values = MessageValues()
        self._by_path: dict[tuple[int, ...], Descriptor] = {}
        self._made: dict[tuple[int, ...], ProtoMessage] = {}
        for index, each in enumerate(file.message_types_by_name.values()):
            self._collect((index,), each)
        if not self._by_path:
            raise ValueError("it has no message")

    def at(self, path: tuple[int, ...]) -> ProtoMessage:
        """The message at that path; raises DecodeError when there is none."""
        found = self._made.get(path)
        if found is None:
            if path not in self._by_path:
                raise DecodeError(
                    f"the schema has no message at {list(path)}",
                    hint="the record was not written with this schema",
                )
            descriptor = self._by_path[path]
            made = message_factory.GetMessageClass(descriptor)
            found = ProtoMessage(path_bytes(path), made, self._values.of(descriptor))
            self._made[path] = found
        return found

    def named(self, name: str | None) -> ProtoMessage:
        """The message of that name, full or not; the first one for None. Raises ValueError."""
        if name is None:
            return self.at((0,))
        for path, descriptor in self._by_path.items():
            if name in (descriptor.name, descriptor.full_name):
                return self.at(path)
        raise ValueError(f"it has no message {name}")

    def _collect(self, path: tuple[int, ...], descriptor: Descriptor) -> None:
        self._by_path[path] = descriptor
        # The text of a schema has no messages for the entries of its maps: they do not count.
        nested = [each for each in descriptor.nested_types if not each.GetOptions().map_entry]
        for index, each in enumerate(nested):
            self._collect((*path, index), each)


def _built(schema: str, imported: Mapping[str, str]) -> FileDescriptor:
    pool = descriptor_pool.DescriptorPool()
    for module in _WELL_KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    try:
        for name, text in imported.items():
            pool.AddSerializedFile(_serialized(text, name))
        pool.AddSerializedFile(_serialized(schema, _FILE))
        return pool.FindFileByName(_FILE)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(str(error)[:500]) from error


def _serialized(schema: str, name: str) -> bytes:
    """The descriptor: of the text, or as Confluent's Python client registers it, in base64."""
    try:
        found = descriptor_pb2.FileDescriptorProto.FromString(
            base64.b64decode(schema, validate=True)
        )
    except (binascii.Error, ValueError, Unreadable):
        found = descriptor_of(schema, name)
    found.name = name
    return bytes(found.SerializeToString())
