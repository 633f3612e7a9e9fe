"""Typed values: a msgspec Struct in JSON or msgpack, validated when encoded and decoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, get_args

import msgspec

from lastword.codecs.defaults import DECODING_FAILED, ENCODING_FAILED
from lastword.codecs.structured import DocumentCodec, Format
from lastword.errors import ConfigError, DecodeError, EncodeError

S = TypeVar("S", bound=msgspec.Struct)


class TypedCodec(DocumentCodec, Generic[S]):
    """``TypedCodec("json", User)`` reads and writes ``User`` and nothing else.

    A Struct does not check its fields when it is created, so ``encode`` decodes what it wrote: a
    table never writes a record that it could not read.
    """

    def __init__(self, format: Format, type: type[S]) -> None:
        if format not in get_args(Format):
            raise ConfigError(
                f"there is no typed format {format!r}", hint="typed values are json or msgpack"
            )
        super().__init__(f"{format}[{type.__name__}]", format, type, decodes_to_check=True)
        self.type = type
        self._format = format
        self._encode: Callable[[S], bytes]
        self._decode: Callable[[bytes], S]
        if format == "json":
            self._encode = msgspec.json.Encoder().encode
            self._decode = msgspec.json.Decoder(type).decode
        else:
            self._encode = msgspec.msgpack.Encoder().encode
            self._decode = msgspec.msgpack.Decoder(type).decode

    def __reduce__(self) -> tuple[type[TypedCodec[S]], tuple[Format, type[S]]]:
        return TypedCodec, (self._format, self.type)

    def encode(self, value: S) -> bytes:
        """The document of ``value``; raises EncodeError if a field has the wrong type."""
        if not isinstance(value, self.type):
            raise EncodeError(
                f"a {self.name} codec takes {self.type.__name__}, not {type(value).__name__}",
                hint=f"msgspec.convert(value, {self.type.__name__}) makes one of a dict",
            )
        try:
            data = self._encode(value)
            self._decode(data)
        except ENCODING_FAILED as error:
            raise EncodeError(f"not a valid {self.type.__name__}: {error}") from error
        return data

    def decode(self, data: bytes) -> S:
        """The Struct; the error for an invalid document names the field."""
        try:
            return self._decode(data)
        except msgspec.ValidationError as error:
            raise DecodeError(
                f"does not fit {self.type.__name__}: {error}",
                hint="give the field a default or a wider type, or repair the record's writer",
            ) from error
        except DECODING_FAILED as error:
            raise DecodeError(
                f"not {self.name}: {error}", hint="the bytes codec shows what is there"
            ) from error
