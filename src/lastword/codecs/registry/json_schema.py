"""JSON with a schema from a registry: read natively, or by msgspec and jsonschema-rs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from lastword.codecs.batches import DecodedBatch, decode_singly
from lastword.codecs.columns.class_columns import class_columns
from lastword.codecs.columns.column_layout import ColumnLayout, described
from lastword.codecs.columns.json_columns import json_columns
from lastword.codecs.columns.type_tree import ColumnType
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.defaults import DECODING_FAILED, ENCODING_FAILED
from lastword.codecs.evolution import Evolution
from lastword.codecs.registry.client import RegistrySettings, Schema
from lastword.codecs.registry.document_plan import native_documents
from lastword.codecs.registry.registry import WriteRules
from lastword.codecs.registry.registry_codec import RegistryCodec, again, json_of
from lastword.codecs.registry.wire_format import GUID_BYTES, NUMBER_BYTES, document_start
from lastword.codecs.value_types import is_value_type, value_type
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


# Which version of a class a schema was generated from.
_VERSION = "x-lastword-version"


class JsonSchema(NamedTuple):
    """What checks documents, and the version of the class that they are documents of.

    ``documents`` reads and checks in one pass; None if the schema says more than it can check, or
    without the native module. A document that it refuses may still be valid.
    """

    validator: Any
    version: int
    described: Any
    documents: Any


class JsonSchemaCodec(RegistryCodec):
    """Documents that are valid under the schema that wrote them.

    Given a class instead of a schema, its schema is generated and values are of that class;
    documents of its older versions are upgraded as they are read.
    """

    name = wire = "json-schema"
    kind = "JSON"

    def __init__(self, settings: RegistrySettings, schema: Any, rules: WriteRules) -> None:
        self._type = value_type(schema) if is_value_type(schema) else None
        if self._type is not None:
            self._evolution = Evolution(self._type.type)
            schema = {**self._type.json_schema(), _VERSION: self._evolution.version}
        super().__init__(settings, schema, rules)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._type is None:
            return super().__reduce__()
        return again, (type(self), self._settings, self._type.type, self._rules, self._context)

    @property
    def type(self) -> type[Any] | None:
        """The class of the values; None for plain documents."""
        return None if self._type is None else self._type.type

    def _description(self) -> tuple[Any, ...]:
        return *super()._description(), self.type

    def encode(self, value: Any) -> bytes:
        """The document; raises EncodeError unless it is valid."""
        validator = self.writing().parsed.validator
        try:
            document = _encode(value) if self._type is None else self._document_of(value)
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
        # Without the calls of `_writer` and `document_start`, which a read of one key would feel.
        writer = self._met.get(data[:NUMBER_BYTES]) or self._meet(data)
        start = GUID_BYTES if data[0] else NUMBER_BYTES
        documents = writer.documents
        value = None if documents is None else documents.value(data, start)
        if value is None:
            value = _checked(writer.validator, data[start:])
        return value if self._type is None else self._typed(value, writer.version)

    def decode_batch(self, data: Sequence[bytes | None]) -> DecodedBatch:
        """The values of a batch; those of its first schema at once, the others singly."""
        return self._decoded(data)

    def decode_fields(self, data: Sequence[bytes | None], fields: tuple[str, ...]) -> DecodedBatch:
        """The same with at least these members of objects; all of a document is checked."""
        return self._decoded(data, fields)

    def _decoded(self, data: Sequence[bytes | None], *fields: tuple[str, ...]) -> DecodedBatch:
        batch, id_bytes, documents = self._at_once(data)
        if documents is None or self._type is not None:
            return decode_singly(self.decode, batch)
        values, left = documents.values(batch, id_bytes, *fields)
        bad: dict[int, DecodeError] = {}
        for i in left:
            try:
                values[i] = self.decode(batch[i])
            except DecodeError as error:
                bad[i] = error
        return DecodedBatch(values, bad)

    def check_batch(self, data: Sequence[bytes | None]) -> Mapping[int, DecodeError]:
        """Why some of a batch is bad, by index, without making values of the others."""
        batch, id_bytes, documents = self._at_once(data)
        if documents is None or self._type is not None:
            return decode_singly(self.decode, batch).bad
        left = documents.unsure(batch, id_bytes)
        found = decode_singly(self.decode, [batch[i] for i in left])
        return {left[i]: error for i, error in found.bad.items()}

    def _at_once(self, data: Sequence[bytes | None]) -> tuple[list[bytes | None], bytes, Any]:
        """The batch, the id that its first value begins with, and what reads such values."""
        batch = data if isinstance(data, list) else list(data)
        first = next((each for each in batch if each is not None), b"")
        try:
            documents = self._writer(first).documents
        except DecodeError:
            return batch, b"", None  # found again for each value that has it
        return batch, first[: document_start(first)], documents

    def to_json(self, data: bytes) -> bytes:
        """The document; of a class, as its newest version writes it."""
        if self._type is None:
            return super().to_json(data)
        return self._type.to_json(self.decode(data))

    def from_json(self, document: bytes) -> bytes:
        """The record of a JSON document."""
        if self._type is None:
            return super().from_json(document)
        try:
            value = self._type.from_json(document)
        except DECODING_FAILED as error:
            raise EncodeError(f"the value is not a {self._type.type.__name__}: {error}") from error
        return self.encode(value)

    def _own_column(self) -> TypedColumn:
        if self._type is not None:
            return TypedColumn(class_columns(self._type.type), self.decode_batch)
        kind = json_columns(self._own_parsed().described)
        return TypedColumn(kind, self.decode_batch, lay_out=partial(self._lay_out, kind))

    def _lay_out(self, kind: ColumnType, data: list[bytes | None]) -> ColumnLayout | None:
        """The batch as a column, if the native module can, and the column's schema wrote it."""
        column = described(kind)
        batch, id_bytes, documents = self._at_once(data)
        if column is None or documents is None:
            return None
        if self._writer(id_bytes).described != self._own_parsed().described:
            return None
        layout, left = documents.columns(batch, id_bytes, column)
        return ColumnLayout(kind, layout, left)

    def _document_of(self, value: Any) -> bytes:
        assert self._type is not None  # noqa: S101 - asked before
        if not isinstance(value, self._type.type):
            raise EncodeError(
                f"the codec takes {self._type.type.__name__}, not {type(value).__name__}",
                hint=f"make a {self._type.type.__name__} of it first",
            )
        return _encode(_decode(self._type.to_json(value)))

    def _typed(self, document: Any, version: int) -> Any:
        assert self._type is not None  # noqa: S101 - asked before
        try:
            return self._type.from_document(self._evolution.upgraded(document, version))
        except DECODING_FAILED as error:
            raise DecodeError(
                f"a document of version {version} does not fit {self._type.type.__name__}, "
                f"version {self._evolution.version}: {str(error)[:500]}",
                hint="upgrade it with @upgrade, or run a newer version of this program",
            ) from error

    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> JsonSchema:
        documents = {name: json_of(each.schema) for name, each in references.items()}

        def retrieve(uri: str) -> Any:
            """Resolve only references from the registry: a schema must not trigger downloads."""
            name = uri.removeprefix("json-schema:///")
            if name in documents:
                return documents[name]
            raise ValueError(f"{uri} is not among its references")

        try:
            described = json_of(schema.schema)
            validator = jsonschema_rs.validator_for(described, retriever=retrieve)
            documents = native_documents(described)
            return JsonSchema(validator, _stated_version(described), described, documents)
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


def _checked(validator: Any, document: bytes) -> Any:
    """The value of a document; raises DecodeError unless it is valid."""
    try:
        value = _decode(document)
    except DECODING_FAILED as error:
        raise DecodeError(
            f"not json: {error}", hint="the bytes codec shows what is there"
        ) from error
    if not validator.is_valid(value):
        raise DecodeError(
            f"the value does not fit its schema: {_why_invalid(validator, value)}",
            hint="its writer did not validate it; repair the record or its schema",
        )
    return value


def _stated_version(described: Any) -> int:
    stated = described.get(_VERSION, 1) if isinstance(described, dict) else 1
    return stated if isinstance(stated, int) else 1


def _why_invalid(validator: Any, value: Any) -> str | None:
    if validator.is_valid(value):
        return None
    first = next(iter(validator.iter_errors(value)), None)
    return "it is not valid" if first is None else str(first.message)[:500]
