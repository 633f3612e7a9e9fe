"""JSON with a schema from a registry: validated by jsonschema-rs, decoded by msgspec."""

from __future__ import annotations

from typing import Any

import msgspec

from lastword.codecs.defaults import DECODING_FAILED, ENCODING_FAILED
from lastword.codecs.registry.client import Schema
from lastword.codecs.registry.registry_codec import RegistryCodec, json_of
from lastword.errors import ConfigError, DecodeError, EncodeError

try:
    import jsonschema_rs
except ImportError as missing:  # pragma: no cover - the tests install the extra
    raise ConfigError(
        "JSON Schema needs jsonschema-rs, which is not installed",
        hint="pip install 'lastword[schemas]'",
    ) from missing

# Members are sorted: equal keys must have equal bytes; for values it does no harm.
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


class JsonSchemaCodec(RegistryCodec):
    """Documents that are valid under the writer's schema, and under the reader's if it has one."""

    name = wire = "json-schema"
    kind = "JSON"

    def encode(self, value: Any) -> bytes:
        """The document; raises EncodeError unless it is valid."""
        validator = self.writing().parsed
        try:
            document = _encode(value)
            why = _why_invalid(validator, _decode(document))
        except ENCODING_FAILED as error:
            raise EncodeError(f"cannot be written as JSON: {error}") from error
        if why is not None:
            raise EncodeError(
                f"the value does not fit the schema of {self.subject}: {why}",
                hint="see the schema in the registry",
            )
        return self._framed(document)

    def decode(self, data: bytes) -> Any:
        """The value; raises DecodeError unless it is valid."""
        validator, document = self._document(data)
        try:
            value = _decode(document)
        except DECODING_FAILED as error:
            raise DecodeError(
                f"not json: {error}", hint="the bytes codec shows what is there"
            ) from error
        why = _why_invalid(validator, value)
        if why is not None:
            raise DecodeError(
                f"the value does not fit its schema: {why}",
                hint="its writer did not validate it; repair the record or its schema",
            )
        return value

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> Any:
        documents = {name: json_of(each.schema) for name, each in references.items()}

        def retrieve(uri: str) -> Any:
            """Resolve only references from the registry: a schema must not trigger downloads."""
            name = uri.removeprefix("json-schema:///")
            if name in documents:
                return documents[name]
            raise ValueError(f"{uri} is not among its references")

        try:
            return jsonschema_rs.validator_for(json_of(schema.schema), retriever=retrieve)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            raise ValueError(str(error)[:500]) from error

    def _record_name(self, schema: Schema) -> str:
        described = json_of(schema.schema)
        if isinstance(described, dict) and isinstance(described.get("title"), str):
            return str(described["title"])
        raise ConfigError(
            "a JSON schema without a title has no subject",
            hint="use the subject strategy topic, or give it a title",
        )


def _why_invalid(validator: Any, value: Any) -> str | None:
    if validator.is_valid(value):
        return None
    first = next(iter(validator.iter_errors(value)), None)
    return "it is not valid" if first is None else str(first.message)[:500]
