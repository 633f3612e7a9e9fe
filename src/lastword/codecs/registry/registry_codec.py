"""What the registry codecs share: the id before the document, and the schema for writing."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, TypeVar

import msgspec

from lastword.codecs.base import Column, Context
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.defaults import DECODING_FAILED, WholeKey
from lastword.codecs.registry.client import RegistrySettings, Schema
from lastword.codecs.registry.known_schemas import SCHEMAS_MAX, KnownSchemas
from lastword.codecs.registry.registry import WriteRules, known_schemas
from lastword.codecs.registry.wire_format import (
    ID_HEADERS,
    NUMBER_BYTES,
    SchemaId,
    document_start,
    schema_id_of,
)
from lastword.codecs.registry.write_schema import (
    Subject,
    WriteSchema,
    find_write_schema,
    no_subject,
)
from lastword.codecs.split import Split
from lastword.codecs.versions import SchemaText, ValueSchema, ValueVersion
from lastword.errors import ConfigError, DecodeError
from lastword.records import Headers

log = logging.getLogger(__name__)

VERSIONS_MAX = 50
"""How many versions of a subject are shown: each is a request."""

R = TypeVar("R", bound="RegistryCodec")


class RegistryCodec(WholeKey):
    """Documents with the id of their schema in front or in a header of their record.

    Reading asks the registry once per id. If the registry does not answer, an id that is not cached
    raises RegistryError and never DecodeError: the record may be valid.
    """

    kind: ClassVar[str]
    column = Column("string")

    def __init__(self, settings: RegistrySettings, schema: Any, rules: WriteRules) -> None:
        self._settings = settings
        self._schema = None if schema is None else self._given(schema)
        self._rules = rules
        self._context: Context | None = None
        self._known: KnownSchemas = known_schemas(settings)
        self._writing: WriteSchema | None = None
        self._met: dict[bytes, Any] = {}
        self._newest: RegistryCodec | None = None
        self._by_id: dict[SchemaId, ValueVersion] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return again, (type(self), self._settings, self._schema, self._rules, self._context)

    def __eq__(self, other: object) -> bool:
        """Whether the other codec reads and writes the same, whatever the topic."""
        return isinstance(other, RegistryCodec) and self._description() == other._description()

    def __hash__(self) -> int:
        return hash(self._description())

    def _description(self) -> tuple[Any, ...]:
        return type(self), self._settings, self._schema, self._rules

    def bound(self: R, context: Context) -> R:
        """The codec for this topic: it writes under the topic's subject."""
        if context.part == "key" and self._rules.id_in == "header":
            raise ConfigError(
                f"the schema ids of the keys of {context.topic} cannot be written to headers",
                hint="keys are looked up by their bytes alone: give their codec id_in='payload'",
            )
        bound = copy(self)
        bound._context, bound._writing, bound._lock = context, None, threading.Lock()
        bound._newest, bound._by_id = None, {}
        return bound

    @property
    def id_header(self) -> str:
        """The header that may hold the id of the schema."""
        return ID_HEADERS["value" if self._context is None else self._context.part]

    @property
    def split(self) -> Split | None:
        """How the id of a value goes to the header; None if it stays before the document."""
        return self._split if self._rules.id_in == "header" else None

    def _split(self, data: bytes, headers: Headers) -> tuple[bytes, Headers]:
        if any(name == self.id_header for name, _ in headers):
            return data, headers
        try:
            schema_id_of(data)
            start = self._header_end(data)
        except DecodeError:
            return data, headers  # raw bytes that no codec has encoded
        return data[start:], (*headers, (self.id_header, data[:start]))

    def _header_end(self, data: bytes) -> int:
        """Where the part of ``data`` ends that belongs in the header."""
        return document_start(data)

    def parse(self, text: bytes) -> bytes:
        """Parse a value typed as JSON."""
        return self.from_json(text)

    def text(self, data: bytes) -> str | None:
        """None: a person cannot type the schema's id."""
        return None

    @property
    def subject(self) -> str:
        """The subject of the schema for writing."""
        if self._context is None:
            raise ConfigError(
                f"a {self.name} codec that is not bound to a topic cannot write",
                hint="give it to a Table, an EventLog or a Pipeline",
            )
        if self._rules.subject_name is not None:
            return self._rules.subject_name
        if self._rules.subject == "topic":
            return f"{self._context.topic}-{self._context.part}"
        if self._schema is None:
            raise ConfigError(
                f"the subject strategy {self._rules.subject} needs a schema for writing",
                hint="give a schema, or use the strategy topic",
            )
        record = self._record_name(self._schema)
        by_topic = self._rules.subject == "topic-record"
        return f"{self._context.topic}-{record}" if by_topic else record

    @property
    def own_subject(self) -> str | None:
        """The subject, unless the topic names it, or none is known."""
        by_topic = self._rules.subject == "topic" and self._rules.subject_name is None
        has_none = self._schema is None and self._rules.subject_name is None
        return None if by_topic or has_none else self.subject

    @property
    def message(self) -> str | None:
        """The name of the Protobuf message that is written, unless it is the first one."""
        return self._rules.message

    def writing(self) -> WriteSchema:
        """The schema for writing, from the registry; registered there if that is allowed."""
        if self._writing is None:
            with self._lock:
                if self._writing is None:
                    self._writing = self._find_writing()
        return self._writing

    def register_for(self, context: Context) -> None:
        """Register the schema that writes here for another topic, too, if that is allowed.

        Raises EncodeError if the registry finds it incompatible there, and RegistryError.
        """
        codec = self if self._schema is not None else self._of_newest()
        if codec is not None and self._rules.auto_register:
            codec.bound(context).writing()

    def written_with(self, data: bytes) -> ValueVersion:
        """The version of the subject that wrote ``data``, and the id of its schema."""
        return self._version(schema_id_of(data))

    def newest(self) -> ValueVersion:
        """The version that writes."""
        return self._version(self.writing().schema_id)

    def renewed(self, data: bytes) -> bytes | None:
        """The value as the schema that writes sees it; None if that schema wrote it."""
        schema_id = schema_id_of(data)
        if not isinstance(schema_id, int):
            schema_id = self._version(schema_id).schema_id or schema_id
        if schema_id == self.writing().schema_id:
            return None
        newest = self._reading_newest(data)
        return newest.encode(newest.decode(data))

    def value_schema(self) -> ValueSchema:
        """The newest versions of the subject."""
        client, subject = self._known.client, self.subject
        numbers = sorted(client.versions(subject))[-VERSIONS_MAX:]
        found = [client.version(subject, number) for number in numbers]
        texts = (
            SchemaText(ValueVersion(each.version, each.id), each.schema_type, each.schema)
            for each in found
            if each is not None
        )
        return ValueSchema(subject, tuple(texts))

    def typed_column(self) -> TypedColumn | None:
        """The column of the schema given, else of the newest of the subject; None without one."""
        try:
            codec = self if self._schema is not None else self._of_newest()
            return None if codec is None else codec._own_column()
        except (ConfigError, DecodeError) as error:
            log.warning("%s values have no columns: %s", self.name, error)
            return None

    def _of_newest(self: R) -> R | None:
        """The codec whose schema is the newest of the subject; None for a subject without one."""
        found = self._known.client.version(self.subject)
        if found is None:
            return None
        return again(type(self), self._settings, found.content, self._rules, self._context)

    def _reading_newest(self: R, data: bytes) -> R:
        """The codec that reads ``data`` as the schema that writes sees it."""
        if self._schema is not None:
            return self
        if self._newest is None:
            found = self._known.client.version(self.subject)
            if found is None:
                raise no_subject(self.subject)
            self._newest = self._given_schema(found.content, self._rules)
        return self._newest  # type: ignore[return-value]

    def _given_schema(self: R, schema: Schema, rules: WriteRules) -> R:
        made = again(type(self), self._settings, schema, rules, self._context)
        made._writing = self.writing()._replace(parsed=made._own_parsed())
        return made

    def _version(self, schema_id: SchemaId) -> ValueVersion:
        """The version of the subject that has this schema; asked for once per id."""
        if schema_id not in self._by_id:
            client, subject = self._known.client, self.subject
            for number in client.versions(subject):
                found = client.version(subject, number)
                if found is not None:
                    version = ValueVersion(number, found.id)
                    self._by_id[found.id] = self._by_id[found.guid or found.id] = version
            known_id = schema_id if isinstance(schema_id, int) else None
            self._by_id.setdefault(schema_id, ValueVersion(None, known_id))
        return self._by_id[schema_id]

    def _writer(self, data: bytes) -> Any:
        """The parsed schema that wrote ``data``. On the hot path of every read."""
        return self._met.get(data[:NUMBER_BYTES]) or self._meet(data)

    def _meet(self, data: bytes) -> Any:
        schema_id = schema_id_of(data)
        id_bytes = data[: document_start(data)]
        found = self._met.get(id_bytes)  # a GUID is longer than what the hot path looks up
        if found is None:
            found = self._reading(self._known.parsed(self.kind, schema_id, self._parsed))
            if len(self._met) >= SCHEMAS_MAX:
                self._met.clear()
            self._met[id_bytes] = found
        return found

    def _reading(self, writer: Any) -> Any:
        """What ``decode`` needs to read records of that schema, made once per schema."""
        return writer

    def _framed(self, document: bytes) -> bytes:
        return self.writing().id_bytes + document

    def _find_writing(self) -> WriteSchema:
        part = "value" if self._context is None else self._context.part
        subject = Subject(self.subject, part)
        return find_write_schema(self._known, subject, self._schema, self._rules, self._parsed)

    def _given(self, schema: Any) -> Schema:
        if isinstance(schema, Schema):
            return self._of_kind(schema)
        text = schema if isinstance(schema, str) else msgspec.json.encode(schema).decode()
        found = Schema(text, self.kind)
        try:
            self._parsed(found, {})
        except ValueError as error:
            raise ConfigError(f"the schema cannot be used: {error}") from error
        return found

    def _of_kind(self, schema: Schema) -> Schema:
        """A schema with references; what they are is asked for when it is needed first."""
        if schema.schema_type != self.kind:
            raise ConfigError(
                f"the schema is {schema.schema_type}, and the codec {self.name}",
                hint=f"give schema_type={self.kind!r}, or choose the codec of the schema",
            )
        return schema

    def _own_parsed(self) -> Any:
        """What was made of the schema given, for reading; asked for once."""
        if self._own is None:
            assert self._schema is not None  # noqa: S101 - asked before
            try:
                self._own = self._parsed(self._schema, self._known.references(self._schema))
            except ValueError as error:
                raise DecodeError(f"the schema given cannot be used: {error}") from error
        return self._own

    _own: Any = None

    @abstractmethod
    def _parsed(self, schema: Schema, references: dict[str, Schema]) -> Any:
        """The parsed schema; raises ValueError if it is invalid."""

    @abstractmethod
    def _own_column(self) -> TypedColumn:
        """The column of the schema given; raises DecodeError if it cannot be used."""

    @abstractmethod
    def _record_name(self, schema: Schema) -> str:
        """The name of the record that the schema describes."""


def json_of(text: str) -> Any:
    """The schema's text as JSON; raises ValueError."""
    try:
        return msgspec.json.decode(text.encode())
    except DECODING_FAILED as error:
        raise ValueError(f"it is not JSON: {error}") from error


def again(
    codec: type[R],
    settings: RegistrySettings,
    schema: Any,
    rules: WriteRules,
    context: Context | None,
) -> R:
    """The codec that was pickled as this description."""
    made = codec(settings, schema, rules)
    return made if context is None else made.bound(context)
