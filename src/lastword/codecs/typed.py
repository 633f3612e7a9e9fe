"""Typed values: a class in JSON or msgpack, validated when encoded and decoded, in any version."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, get_args

import msgspec

from lastword.codecs.batches import decode_singly
from lastword.codecs.columns.class_columns import class_columns
from lastword.codecs.columns.typed_column import TypedColumn
from lastword.codecs.defaults import DECODING_FAILED, ENCODING_FAILED
from lastword.codecs.evolution import VERSION_MEMBER, Evolution, split_version
from lastword.codecs.structured import DocumentCodec, Format
from lastword.codecs.value_types import value_type
from lastword.codecs.versions import SchemaText, ValueSchema, ValueVersion
from lastword.errors import ConfigError, DecodeError, EncodeError

S = TypeVar("S")


class _Stated(msgspec.Struct):
    version: Any = msgspec.field(default=1, name=VERSION_MEMBER)


_stated_in_json = msgspec.json.Decoder(_Stated).decode


class TypedCodec(DocumentCodec, Generic[S]):
    """``TypedCodec("json", User)`` reads and writes ``User`` and nothing else.

    ``User`` is a msgspec Struct, a dataclass or a pydantic model. A document of an older version
    of the class is upgraded as it is read. ``encode`` reads back what it wrote, because fields are
    not checked when they are set: a table never writes a record that it could not read.
    """

    def __init__(self, format: Format, type: type[S]) -> None:
        if format not in get_args(Format):
            raise ConfigError(
                f"there is no typed format {format!r}", hint="typed values are json or msgpack"
            )
        super().__init__(f"{format}[{type.__name__}]", format, Any, decodes_to_check=True)
        self.type = type
        self.evolution = Evolution(type)
        self._values = value_type(type)
        self._format = format
        self._read_json = self._values.from_json
        self._versioned = self.evolution.version > 1
        self._read: Callable[[bytes], Any] = self._read_versioned
        if not self._versioned and not self._values.sees_unknown:
            plain = self._values.from_json if self._is_json else self._values.from_msgpack
            self._read = plain

    def __reduce__(self) -> tuple[type[TypedCodec[S]], tuple[Format, type[S]]]:
        return TypedCodec, (self._format, self.type)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the documents of this version."""
        return self._values.json_schema()

    def encode(self, value: S) -> bytes:
        """The document of ``value``; raises EncodeError if a field has the wrong type."""
        if not isinstance(value, self.type):
            raise EncodeError(
                f"a {self.name} codec takes {self.type.__name__}, not {type(value).__name__}",
                hint=f"make a {self.type.__name__} of it first",
            )
        try:
            data = self._written(value)
            self._read(data)
        except ENCODING_FAILED as error:
            raise EncodeError(f"not a valid {self.type.__name__}: {error}") from error
        return data

    def decode(self, data: bytes) -> S:
        """The value; the error for an invalid document names the field."""
        try:
            value: S = self._read(data)
        except DECODING_FAILED as error:
            raise self._unfit(data, error) from error
        return value

    def text(self, data: bytes) -> str | None:
        """The document in JSON, unless it was written in a form of its own."""
        try:
            text = self.to_json(data)
            return text.decode() if self.parse(text) == data else None
        except (DecodeError, EncodeError):
            return None

    def to_json(self, data: bytes) -> bytes:
        """The document as this version of the class writes it."""
        if self._is_json and not self._versioned:
            return super().to_json(data)
        return self._values.to_json(self.decode(data))

    def from_json(self, document: bytes) -> bytes:
        """A document of this version of the class."""
        if self._is_json and not self._versioned:
            return super().from_json(document)
        return self._encoded(document)

    def column_value(self, data: bytes) -> str:
        """The document that ``to_json`` shows."""
        return self.to_json(data).decode()

    def typed_column(self) -> TypedColumn:
        """A column by the fields of the class."""
        return TypedColumn(class_columns(self.type), partial(decode_singly, self.decode))

    def _written(self, value: S) -> bytes:
        version = self.evolution.version
        if not self._versioned:
            return self._values.to_json(value) if self._is_json else self._values.to_msgpack(value)
        if self._is_json:
            data = self._values.to_json(value)
            if data[:1] != b"{":
                raise ValueError("only an object has a version")
            stated = f'{{"{VERSION_MEMBER}":{version}'.encode()
            return stated + (b"}" if data == b"{}" else b"," + data[1:])
        return msgspec.msgpack.encode({VERSION_MEMBER: version, **self._values.to_document(value)})

    def _read_versioned(self, data: bytes) -> Any:
        # A document of this very version is read without a detour, if unknown members do no harm.
        if self._is_json and not self._values.sees_unknown:
            stated = _stated_in_json(data).version if data[:1] == b"{" else 1
            if stated == self.evolution.version:
                return self._values.from_json(data)
        plain = msgspec.json.decode(data) if self._is_json else msgspec.msgpack.decode(data)
        document, version = split_version(plain)
        return self._values.from_document(self.evolution.upgraded(document, version))

    def value_schema(self) -> ValueSchema:
        """The JSON Schema of the class; of its older versions only the steps are known."""
        text = msgspec.json.format(msgspec.json.encode(self.schema)).decode()
        return ValueSchema(None, (SchemaText(self.newest(), "JSON", text),))

    def newest(self) -> ValueVersion:
        """The version of the class."""
        return ValueVersion(self.evolution.version)

    def renewed(self, data: bytes) -> bytes | None:
        """The value as this version of the class writes it; None if it, or a newer one, did."""
        number = self.written_with(data).number or 1
        return None if number >= self.evolution.version else self.encode(self.decode(data))

    def _unfit(self, data: bytes, error: Exception) -> DecodeError:
        known = self.evolution.version
        try:
            version = self.written_with(data).number or 1
        except DecodeError as unreadable:
            return unreadable
        if version > known:
            return DecodeError(
                f"does not fit {self.type.__name__}: {error}; the record has version {version}, "
                f"and {self.type.__name__} here version {known}",
                hint="run a newer version of this program",
            )
        return DecodeError(
            f"does not fit {self.type.__name__}: {error}",
            hint="give the field a default or a wider type, upgrade the old version with "
            "@upgrade, or repair the record's writer",
        )
