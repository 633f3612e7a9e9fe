"""Avro in Confluent's wire format, decoded by fastavro."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import Any

from lastword.codecs.batches import NONE_BAD, DecodedBatch, decode_singly
from lastword.codecs.columns.avro_columns import avro_column
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.registry.avro_json import to_avro
from lastword.codecs.registry.avro_schema import AvroSchema, refers_to_itself
from lastword.codecs.registry.client import Schema
from lastword.codecs.registry.depth import refuse_deep
from lastword.codecs.registry.registry_codec import RegistryCodec, json_of
from lastword.codecs.registry.wire_format import NUMBER_BYTES, common_id, document_start
from lastword.errors import ConfigError, DecodeError, EncodeError

try:
    import fastavro
    from fastavro._read_py import schemaless_reader as python_reader
    from fastavro.schema import SchemaParseException

    from lastword.codecs.registry.avro_reader import LongerError, Read, made_reader
except ImportError as missing:  # pragma: no cover - the tests install the extra
    raise ConfigError(
        "Avro needs fastavro, which is not installed", hint="pip install 'lastword[schemas]'"
    ) from missing

NATIVE_DEPTH_BYTES = 500
"""How long a record of a schema that refers to itself may be for native code: each level takes at
least one byte, and some thousand levels overflow the stack."""

# What fastavro raises for invalid bytes: it checks little and fails in many ways.
_UNREADABLE = (
    EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError,
    MemoryError, ArithmeticError, StopIteration, struct.error,
)  # fmt: skip
_UNWRITABLE = (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError,
               RecursionError, ArithmeticError)  # fmt: skip


class AvroCodec(RegistryCodec):
    """Values of an Avro schema: records are dicts.

    With a schema of its own it resolves every record to that schema (Avro's schema resolution:
    defaults for missing fields, promoted types, aliases). Without one, it uses the writer's schema.
    """

    name = wire = "avro"
    kind = "AVRO"

    def encode(self, value: Any) -> bytes:
        """The record; raises EncodeError for a value that does not fit the schema."""
        schema = self.writing().parsed
        if schema.recursive:
            refuse_deep(value)
        out = BytesIO()
        try:
            fastavro.schemaless_writer(out, schema.parsed, value, strict_allow_default=True)
        except _UNWRITABLE as error:
            raise EncodeError(
                f"the value does not fit the schema of {self.subject}: {_said(error)}",
                hint="give every field without a default, and no unknown fields",
            ) from error
        return self._framed(out.getvalue())

    def decode(self, data: bytes) -> Any:
        """The value; raises DecodeError for bytes that do not fit their schema."""
        read = self._writer(data)
        try:
            return read(data, document_start(data))
        except LongerError as error:
            raise DecodeError(
                "the record has more bytes than its schema describes",
                hint="the record was written with another schema",
            ) from error
        except _UNREADABLE as error:
            raise DecodeError(
                f"the bytes do not fit their schema: {_said(error)}",
                hint="the record is truncated, or was written with another schema",
            ) from error

    def decode_batch(self, data: Sequence[bytes | None]) -> DecodedBatch:
        """The values of a batch; if one schema wrote all of them, without looking at each id."""
        if (first := common_id(data)) is not None:
            try:
                read = self._writer(first)
                return DecodedBatch([read(each, NUMBER_BYTES) for each in data], NONE_BAD)
            except (DecodeError, *_UNREADABLE):
                pass  # find out which
        return decode_singly(self.decode, data)

    def _reading(self, writer: AvroSchema) -> Read:
        """The function that reads records of that schema, as the schema of its own sees them."""
        own = None if self._schema is None else self._own_parsed()
        reader = None if own is None or own.parsed == writer.parsed else own.parsed
        if not writer.recursive and (own is None or not own.recursive):
            made = made_reader(writer.parsed, reader)
            if made is not None:
                return made
        return partial(_read_by_fastavro, writer, reader)

    def from_json(self, document: bytes) -> bytes:
        """Encode a JSON document: bytes are in base64, times in ISO 8601."""
        return self.encode(to_avro(self.writing().parsed.parsed, document))

    def _own_column(self) -> TypedColumn:
        column = avro_column(self._own_parsed().parsed)
        return TypedColumn(column.type, self.decode_batch, column.exact)

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> AvroSchema:
        named: dict[str, Any] = {}
        try:
            for each in references.values():
                fastavro.parse_schema(json_of(each.schema), named_schemas=named)
            parsed = fastavro.parse_schema(json_of(schema.schema), named_schemas=named)
            return AvroSchema(parsed, refers_to_itself(parsed, named))
        except (SchemaParseException, TypeError, KeyError, RecursionError, AttributeError) as error:
            raise ValueError(_said(error)) from error

    def _record_name(self, schema: Schema) -> str:
        parsed = self._parsed(schema, self._known.references(schema)).parsed
        if isinstance(parsed, dict) and "name" in parsed:
            return str(parsed["name"])
        raise ConfigError(
            "an Avro schema without a name has no subject",
            hint="use the subject strategy topic, or a record",
        )


def _read_by_fastavro(writer: AvroSchema, reader: Any, data: bytes, start: int) -> Any:
    rest = BytesIO(data)
    rest.seek(start)
    # In native code a record that is nested too deeply would end the process.
    deep = writer.recursive and len(data) > NATIVE_DEPTH_BYTES
    value = (python_reader if deep else fastavro.schemaless_reader)(rest, writer.parsed, reader)
    if rest.tell() != len(data):
        raise LongerError
    return value


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]
