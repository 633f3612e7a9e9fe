"""Values as JSON in answers and requests; those stored as JSON pass through undecoded."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from lastword.codecs.base import Codec
from lastword.codecs.plain import BytesCodec
from lastword.codecs.structured import StructuredCodec
from lastword.codecs.typed import TypedCodec
from lastword.errors import DecodeError, EncodeError
from lastword.service.api.keys import from_base64

# Reads over a document without making anything of it: four times faster than decoding.
_outline = msgspec.json.Decoder(msgspec.Raw).decode
_encode = msgspec.json.Encoder().encode


class ValueForm(Protocol):
    """How the values of one table are written as JSON."""

    def show(self, raw: bytes) -> bytes:
        """The value as a JSON document; raises DecodeError."""

    def parse(self, body: bytes) -> bytes:
        """The raw value of a JSON document; raises EncodeError."""


class JsonValues:
    """Values that are JSON already. What is not is refused: it would break the answer it is in."""

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        self._typed = isinstance(codec, TypedCodec)

    def show(self, raw: bytes) -> bytes:
        """The same bytes, once it is sure that they are one document."""
        if self._typed:
            self._codec.decode(raw)
        try:
            if not raw.isascii():
                raw.decode()
            _outline(raw)
        except (ValueError, RecursionError) as error:
            raise DecodeError(
                f"not json: {error}", hint="Accept: application/octet-stream gives the raw bytes"
            ) from error
        return raw

    def parse(self, body: bytes) -> bytes:
        """The same bytes without the white space around them."""
        try:
            self._codec.decode(body)
        except DecodeError as error:
            raise EncodeError(f"the value is {error}", hint="send one JSON document") from error
        return bytes(_outline(body))


class ConvertedValues:
    """Values of every other codec: decoded and written as JSON, bytes as base64."""

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        kind = codec.type if isinstance(codec, TypedCodec) else Any
        self._read: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode

    def show(self, raw: bytes) -> bytes:
        """The value in JSON."""
        value = self._codec.decode(raw)
        try:
            return _encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise DecodeError(
                f"cannot be shown as JSON: {error}",
                hint="Accept: application/octet-stream gives the raw bytes",
            ) from error

    def parse(self, body: bytes) -> bytes:
        """The value as the codec writes it."""
        try:
            value = self._read(body)
        except (ValueError, RecursionError) as error:
            raise EncodeError(f"the value is not JSON that fits: {error}") from error
        if isinstance(self._codec, BytesCodec) and isinstance(value, str):
            value = from_base64(value)
        return self._codec.encode(value)


def value_form(codec: Codec[Any]) -> ValueForm:
    """The form of the values of a codec."""
    is_json = isinstance(codec, StructuredCodec | TypedCodec) and codec.name.startswith("json")
    return JsonValues(codec) if is_json else ConvertedValues(codec)


def on_one_line(document: bytes) -> bytes:
    """The same JSON without line breaks, which would end an event or a line."""
    if b"\n" in document or b"\r" in document:
        return msgspec.json.format(document, indent=-1)
    return document


def as_base64(raw: bytes) -> str:
    """Bytes in a JSON document."""
    return base64.b64encode(raw).decode()
