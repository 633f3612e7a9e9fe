"""Avro in Confluent's wire format, decoded by fastavro."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from lastword.codecs.registry.avro_json import to_avro
from lastword.codecs.registry.client import Schema
from lastword.codecs.registry.registry_codec import RegistryCodec, json_of
from lastword.errors import ConfigError, DecodeError, EncodeError

try:
    import fastavro
    from fastavro.schema import SchemaParseException
except ImportError as missing:  # pragma: no cover - the tests install the extra
    raise ConfigError(
        "Avro needs fastavro, which is not installed", hint="pip install 'lastword[schemas]'"
    ) from missing

# What fastavro raises for invalid bytes: it checks little and fails in many ways.
_UNREADABLE = (
    EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError,
    MemoryError, ArithmeticError, StopIteration,
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
        writer, document = self._document(data)
        rest = BytesIO(document)
        reader = None if self._schema is None else self._own_parsed()
        try:
            value = fastavro.schemaless_reader(rest, writer, reader)
        except _UNREADABLE as error:
            raise DecodeError(
                f"the bytes do not fit their schema: {_said(error)}",
                hint="the record is truncated, or was written with another schema",
            ) from error
        if rest.read(1):
            raise DecodeError(
                "the record has more bytes than its schema describes",
                hint="the record was written with another schema",
            )
        return value

    def from_json(self, document: bytes) -> bytes:
        """Encode a JSON document: bytes are in base64, times in ISO 8601."""
        return self.encode(to_avro(self.writing().parsed, document))

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> Any:
        named: dict[str, Any] = {}
        try:
            for each in references.values():
                fastavro.parse_schema(json_of(each.schema), named_schemas=named)
            return fastavro.parse_schema(json_of(schema.schema), named_schemas=named)
        except (SchemaParseException, TypeError, KeyError, RecursionError, AttributeError) as error:
            raise ValueError(_said(error)) from error

    def _record_name(self, schema: Schema) -> str:
        parsed = self._parsed(schema, self._known.references(schema))
        if isinstance(parsed, dict) and "name" in parsed:
            return str(parsed["name"])
        raise ConfigError(
            "an Avro schema without a name has no subject",
            hint="use the subject strategy topic, or a record",
        )


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]
