"""Avro in Confluent's wire format, decoded by fastavro."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, NamedTuple

from lastword.codecs.batches import NONE_BAD, DecodedBatch, decode_singly
from lastword.codecs.columns.avro_columns import avro_column
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.registry.avro_json import to_avro
from lastword.codecs.registry.avro_schema import AvroSchema, refers_to_itself
from lastword.codecs.registry.client import Schema
from lastword.codecs.registry.depth import refuse_deep
from lastword.codecs.registry.registry_codec import RegistryCodec, json_of
from lastword.codecs.registry.wire_format import NUMBER_BYTES, document_start
from lastword.errors import ConfigError, DecodeError, EncodeError

try:
    import fastavro
    from fastavro._read_py import schemaless_reader as python_reader
    from fastavro.schema import SchemaParseException

    from lastword.codecs.registry.avro_batch import CHUNK, UNREADABLE, array_of, decode_together
except ImportError as missing:  # pragma: no cover - the tests install the extra
    raise ConfigError(
        "Avro needs fastavro, which is not installed", hint="pip install 'lastword[schemas]'"
    ) from missing

NATIVE_DEPTH_BYTES = 500
"""How long a record of a schema that refers to itself may be for native code: each level takes at
least one byte, and some thousand levels overflow the stack."""

_UNWRITABLE = (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError,
               RecursionError, ArithmeticError)  # fmt: skip


class ReadingSchema(NamedTuple):
    """The schema that wrote a record, and the other one that reads it, if there is one."""

    schema: AvroSchema
    reader: Any
    array_reader: Any


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
        writer = self._writer(data)
        rest = BytesIO(data)
        rest.seek(document_start(data))
        # In native code a record that is nested too deeply would end the process.
        deep = writer.schema.recursive and len(data) > NATIVE_DEPTH_BYTES
        read = python_reader if deep else fastavro.schemaless_reader
        try:
            value = read(rest, writer.schema.parsed, writer.reader)
        except UNREADABLE as error:
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

    def decode_batch(self, data: Sequence[bytes | None]) -> DecodedBatch:
        """The values of a batch, those of one schema together."""
        values: list[Any] = [None] * len(data)
        bad: dict[int, DecodeError] = {}
        for id_bytes, indexes in _by_id(data).items():
            numbered = len(id_bytes) == NUMBER_BYTES and not id_bytes[0]
            for start in range(0, len(indexes), CHUNK):
                chosen = indexes[start : start + CHUNK]
                chunk = [data[i] for i in chosen]
                found = self._together(chunk) if numbered else None
                if found is None:
                    found, errors = decode_singly(self.decode, chunk)
                    bad.update((chosen[i], error) for i, error in errors.items())
                for i, value in zip(chosen, found, strict=True):
                    values[i] = value
        return DecodedBatch(values, bad or NONE_BAD)

    def _together(self, data: Sequence[Any]) -> list[Any] | None:
        """The values of data with the same number in front; None if one of them is bad."""
        try:
            writer = self._writer(data[0])
        except DecodeError:
            return None
        if writer.schema.array is None or (writer.reader and writer.array_reader is None):
            return None
        documents = [each[NUMBER_BYTES:] for each in data]
        return decode_together(documents, writer.schema.array, writer.array_reader)

    def _reading(self, writer: AvroSchema) -> ReadingSchema:
        """The schema of its own, unless it is the same: fastavro would compare them each time."""
        own = None if self._schema is None else self._own_parsed()
        if own is None or own.parsed == writer.parsed:
            return ReadingSchema(writer, None, None)
        return ReadingSchema(writer, own.parsed, own.array)

    def from_json(self, document: bytes) -> bytes:
        """Encode a JSON document: bytes are in base64, times in ISO 8601."""
        return self.encode(to_avro(self.writing().parsed.parsed, document))

    def _own_column(self) -> TypedColumn:
        column = avro_column(self._own_parsed().parsed)
        return TypedColumn(column.type, self.decode_batch, column.exact)

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> AvroSchema:
        described = json_of(schema.schema)
        try:
            named = _named_types(references)
            parsed = fastavro.parse_schema(described, named_schemas=named)
            recursive = refers_to_itself(parsed, named)
            if recursive:  # read together, documents might be nested without end
                return AvroSchema(parsed, recursive, None)
            named = _named_types(references)
            array = fastavro.parse_schema(array_of(described), named_schemas=named)
            return AvroSchema(parsed, recursive, array)
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


def _named_types(references: dict[str, Schema]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for each in references.values():
        fastavro.parse_schema(json_of(each.schema), named_schemas=named)
    return named


def _by_id(data: Sequence[bytes | None]) -> dict[bytes, list[int]]:
    """The indexes of the data by their first bytes."""
    found: dict[bytes, list[int]] = {}
    for i, each in enumerate(data):
        if each is not None:
            found.setdefault(each[:NUMBER_BYTES], []).append(i)
    return found


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]
