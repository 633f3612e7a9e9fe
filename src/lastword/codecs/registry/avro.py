"""Avro in Confluent's wire format, decoded by fastavro."""

from __future__ import annotations

from io import BytesIO
from typing import Any, NamedTuple

from lastword.codecs.columns.avro_columns import avro_columns
from lastword.codecs.columns.type_tree import ColumnType
from lastword.codecs.registry.avro_json import to_avro
from lastword.codecs.registry.avro_schema import AvroSchema, examined
from lastword.codecs.registry.client import Schema
from lastword.codecs.registry.depth import refuse_deep
from lastword.codecs.registry.registry_codec import RegistryCodec, json_of
from lastword.codecs.registry.wire_format import document_start
from lastword.errors import ConfigError, DecodeError, EncodeError

try:
    import fastavro
    from fastavro._read_py import schemaless_reader as python_reader
    from fastavro.schema import SchemaParseException
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
    MemoryError, ArithmeticError, StopIteration,
)  # fmt: skip
_UNWRITABLE = (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError,
               RecursionError, ArithmeticError)  # fmt: skip


class ReadingSchema(NamedTuple):
    """The schema that wrote a record, and the other one that reads it, if there is one."""

    schema: AvroSchema
    reader: Any


class AvroCodec(RegistryCodec):
    """Values of an Avro schema: records are dicts.

    With a schema of its own it resolves every record to that schema (Avro's schema resolution:
    defaults for missing fields, promoted types, aliases). Without one, it uses the writer's schema.
    """

    name = wire = "avro"
    kind = "AVRO"

    def encode(self, value: Any) -> bytes:
        """The record; raises EncodeError for a value that does not fit the schema."""
        schema, recursive = self.writing().parsed
        if recursive:
            refuse_deep(value)
        out = BytesIO()
        try:
            fastavro.schemaless_writer(out, schema, value, strict_allow_default=True)
        except _UNWRITABLE as error:
            raise EncodeError(
                f"the value does not fit the schema of {self.subject}: {_said(error)}",
                hint="give every field without a default, and no unknown fields",
            ) from error
        return self._framed(out.getvalue())

    def decode(self, data: bytes) -> Any:
        """The value; raises DecodeError for bytes that do not fit their schema."""
        writer = self._writer(data)
        rest = BytesIO(data)
        rest.seek(document_start(data))
        # In native code a record that is nested too deeply would end the process.
        deep = writer.schema.recursive and len(data) > NATIVE_DEPTH_BYTES
        read = python_reader if deep else fastavro.schemaless_reader
        try:
            value = read(rest, writer.schema.parsed, writer.reader)
        except _UNREADABLE as error:
            raise DecodeError(
                f"the bytes do not fit their schema: {_said(error)}",
                hint="the record is truncated, or was written with another schema",
            ) from error
        if rest.tell() != len(data):
            raise DecodeError(
                "the record has more bytes than its schema describes",
                hint="the record was written with another schema",
            )
        return value

    def _reading(self, writer: AvroSchema) -> ReadingSchema:
        """The schema of its own, unless it is the same: fastavro would compare them each time."""
        own = None if self._schema is None else self._own_parsed().parsed
        return ReadingSchema(writer, None if own == writer.parsed else own)

    def from_json(self, document: bytes) -> bytes:
        """Encode a JSON document: bytes are in base64, times in ISO 8601."""
        return self.encode(to_avro(self.writing().parsed.parsed, document))

    def _column_type(self) -> ColumnType:
        return avro_columns(self._own_parsed().parsed)

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> AvroSchema:
        named: dict[str, Any] = {}
        try:
            for each in references.values():
                fastavro.parse_schema(json_of(each.schema), named_schemas=named)
            parsed = fastavro.parse_schema(json_of(schema.schema), named_schemas=named)
            return examined(parsed, named)
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


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]
