"""Defaults for most codecs: derive your own from ``ValueCodec`` or ``WholeKey``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from lastword.codecs.base import Column, Context, no_prefix
from lastword.errors import DecodeError, EncodeError
from lastword.records import Headers

C = TypeVar("C", bound="ValueCodec")

# What msgspec raises: its own errors and those of bad UTF-8 are ValueErrors; TypeError is a
# value or a dict key of the wrong kind, OverflowError a number beyond 64 bits in msgpack,
# RecursionError a document nested too deeply.
ENCODING_FAILED = (ValueError, TypeError, OverflowError, RecursionError)
DECODING_FAILED = (ValueError, TypeError, RecursionError)

_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder().decode


class ValueCodec(ABC):
    """A codec whose text is its bytes if they are UTF-8, and whose JSON is that of its values."""

    name: str
    wire: str | None = None
    column: Column | None = None

    @property
    def id_header(self) -> str | None:
        """None: no header belongs to the value."""
        return None

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """The bytes of ``value``; raises EncodeError."""

    @abstractmethod
    def decode(self, data: bytes) -> Any:
        """The value of ``data``; raises DecodeError."""

    def bound(self: C, context: Context) -> C:
        """The same codec: its bytes do not depend on the topic."""
        return self

    def joined(self, data: bytes, headers: Headers) -> bytes:
        """The value of the last ``id_header`` and the data; without such a header, the data."""
        name = self.id_header
        if name is not None:
            for other, value in reversed(headers):
                if other == name and value is not None:
                    return value + data
        return data

    def parse(self, text: bytes) -> bytes:
        """The same bytes, if they can be decoded."""
        try:
            self.decode(text)
        except DecodeError as error:
            raise EncodeError(f"not a {self.name}: {error}", hint=error.hint) from error
        return text

    def text(self, data: bytes) -> str | None:
        """The bytes as text, if they are UTF-8."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None

    def to_json(self, data: bytes) -> bytes:
        """The decoded value in JSON; bytes in it become base64."""
        value = self.decode(data)
        try:
            return _to_json(value)
        except ENCODING_FAILED as error:
            raise DecodeError(
                f"cannot be shown as JSON: {error}", hint="read the raw bytes instead"
            ) from error

    def from_json(self, document: bytes) -> bytes:
        """The encoded value of the document."""
        try:
            value = _from_json(document)
        except DECODING_FAILED as error:
            raise EncodeError(f"the value is not JSON: {error}") from error
        return self.encode(value)

    def column_values(self, data: Sequence[bytes | None]) -> Sequence[Any]:
        """One value at a time, by ``column_value``."""
        return [self._column_value(each) for each in data]

    def column_value(self, data: bytes) -> Any:
        """One value of the column: its JSON, unless a codec overrides this."""
        return self.to_json(data).decode()

    def _column_value(self, data: bytes | None) -> Any:
        try:
            return None if data is None else self.column_value(data)
        except (DecodeError, UnicodeDecodeError):
            return None


class WholeKey(ValueCodec):
    """A key codec without prefixes: every byte counts for the partition."""

    suffix_bytes = 0

    def prefix(self, value: Any) -> bytes:
        """Raise ConfigError: the first bytes of such a key mean nothing to a user."""
        raise no_prefix(self.name, value)

    def text_prefix(self, text: bytes) -> bytes:
        """Raise ConfigError: the text of a key does not begin like its bytes."""
        raise no_prefix(self.name, text.decode(errors="replace"))
