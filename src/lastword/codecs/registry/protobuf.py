"""Protobuf in Confluent's wire format, decoded by the runtime's C library."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from lastword.codecs.base import Context
from lastword.codecs.batches import decode_singly
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.registry.client import RegistrySettings, Schema
from lastword.codecs.registry.depth import refuse_deep
from lastword.codecs.registry.proto_path import read_path
from lastword.codecs.registry.registry import WriteRules
from lastword.codecs.registry.registry_codec import RegistryCodec
from lastword.codecs.registry.wire_format import document_start
from lastword.errors import ConfigError, DecodeError, EncodeError

try:
    from google.protobuf.message import DecodeError as Unreadable
    from google.protobuf.message import EncodeError as Unwritable

    from lastword.codecs.columns.proto_columns import proto_columns
    from lastword.codecs.registry.proto_file import ProtoFile, ProtoMessage
    from lastword.codecs.registry.proto_json import to_message
except ImportError as missing:  # pragma: no cover - the extra is a part of the tests
    raise ConfigError(
        "Protobuf needs protobuf and proto-schema-parser, which are not installed",
        hint="pip install 'lastword[schemas]'",
    ) from missing

_UNFIT = (ValueError, TypeError, AttributeError, Unwritable, RecursionError, OverflowError)


class ProtobufCodec(RegistryCodec):
    """Messages of a Protobuf schema, as dicts.

    With a schema of its own it reads every record as that schema's message, as Protobuf does:
    by the numbers of fields. Without one, as its writer's message.
    """

    name = wire = "protobuf"
    kind = "PROTOBUF"

    def __init__(self, settings: RegistrySettings, schema: Any, rules: WriteRules) -> None:
        super().__init__(settings, schema, rules)
        self._by_message: dict[str, ProtobufCodec] = {}

    def encode(self, value: Any) -> bytes:
        """The record; raises EncodeError for a value that does not fit the message."""
        message = self._message()
        refuse_deep(value)
        try:
            document = message.type(**value).SerializeToString(deterministic=True)
        except _UNFIT as error:
            raise self._unfit(error) from error
        return self._framed(message.indexes + document)

    def decode(self, data: bytes) -> Any:
        """The value; raises DecodeError for bytes that do not fit their schema."""
        writer = self._writer(data)
        path, start = read_path(data, document_start(data))
        message = writer.at(path) if self._schema is None else self._reader()
        try:
            return message.value(message.type.FromString(data[start:]))
        except (Unreadable, ValueError, RecursionError, OverflowError) as error:
            raise DecodeError(
                f"the bytes do not fit their schema: {str(error)[:200]}",
                hint="the record is truncated, or was written with another schema",
            ) from error

    def from_json(self, document: bytes) -> bytes:
        """The record of a JSON document: bytes in base64, times in ISO 8601."""
        message = self._message()
        try:
            value = to_message(message.type.DESCRIPTOR, document)
        except _UNFIT as error:
            raise self._unfit(error) from error
        return self.encode(value)

    def _reading_newest(self, data: bytes) -> ProtobufCodec:
        """The same message of the newest schema: a topic may hold several."""
        if self._schema is not None:
            return self
        writer = self._writer(data)
        path, _ = read_path(data, document_start(data))
        name = str(writer.at(path).type.DESCRIPTOR.full_name)
        if name not in self._by_message:
            newest = super()._reading_newest(data)
            made = copy(newest)
            made._rules = replace(self._rules, message=name)
            self._by_message[name] = made
        return self._by_message[name]

    def bound(self, context: Context) -> ProtobufCodec:
        """The codec that writes under the subject of this topic."""
        bound = super().bound(context)
        bound._by_message = {}
        return bound

    def _header_end(self, data: bytes) -> int:
        """After the path: it stands with the id."""
        return read_path(data, document_start(data))[1]

    def _own_column(self) -> TypedColumn:
        kind = proto_columns(self._reader().type.DESCRIPTOR)
        return TypedColumn(kind, partial(decode_singly, self._decode_for_column))

    def _decode_for_column(self, data: bytes) -> Any:
        """The value, if it is the message that the column has: a topic may hold several."""
        writer = self._writer(data)
        path, _ = read_path(data, document_start(data))
        written = writer.at(path).type.DESCRIPTOR.full_name
        expected = self._reader().type.DESCRIPTOR.full_name
        if written != expected:
            raise DecodeError(f"the record is a {written}, and the column of {expected}")
        return self.decode(data)

    def _message(self) -> ProtoMessage:
        writing = self.writing()
        try:
            return writing.parsed.named(self._rules.message)  # type: ignore[no-any-return]
        except ValueError as error:
            raise EncodeError(f"the schema of {self.subject} cannot be used: {error}") from error

    def _reader(self) -> ProtoMessage:
        try:
            return self._own_parsed().named(self._rules.message)  # type: ignore[no-any-return]
        except ValueError as error:
            raise DecodeError(f"the schema given cannot be used: {error}") from error

    def _unfit(self, error: Exception) -> EncodeError:
        return EncodeError(
            f"the value does not fit the schema of {self.subject}: {str(error)[:500]}",
            hint="give the fields that the message has, each with its type",
        )

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> ProtoFile:
        return ProtoFile(schema.schema, {name: each.schema for name, each in references.items()})

    def _record_name(self, schema: Schema) -> str:
        file = self._parsed(schema, self._known.references(schema))
        return str(file.named(self._rules.message).type.DESCRIPTOR.full_name)
