"""JSON and msgpack: whatever a document of these formats can hold.

Decoding gives plain Python: dict, list, str, int, float, bool, None (and bytes, datetime from
msgpack). JSON has neither NaN nor infinity: both are written as ``null``, as JavaScript does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from lastword.codecs.base import WholeKey
from lastword.codecs.null import encode_null
from lastword.errors import DecodeError, EncodeError

Format = Literal["json", "msgpack"]

# What msgspec raises: its own errors and those of bad UTF-8 are ValueErrors; TypeError is a
# value or a dict key of the wrong kind, OverflowError a number beyond 64 bits in msgpack,
# RecursionError a document nested too deeply.
ENCODING_FAILED = (ValueError, TypeError, OverflowError, RecursionError)
DECODING_FAILED = (ValueError, TypeError, RecursionError)


class StructuredCodec(WholeKey):
    """One of the formats, without a schema.

    ``deterministic`` sorts the members of objects, so that equal values have equal bytes: what
    a key needs. Values keep their members in the order they were given.
    """

    def __init__(self, format: Format, *, deterministic: bool = False) -> None:
        self.name: str = format
        self._encode: Callable[[Any], bytes]
        self._decode: Callable[[bytes], Any]
        order: Literal["deterministic"] | None = "deterministic" if deterministic else None
        if format == "json":
            self._encode = msgspec.json.Encoder(enc_hook=encode_null, order=order).encode
            self._decode = msgspec.json.Decoder().decode
        else:
            self._encode = msgspec.msgpack.Encoder(enc_hook=encode_null, order=order).encode
            self._decode = msgspec.msgpack.Decoder().decode

    def encode(self, value: Any) -> bytes:
        """The document; None is ``null``, which is a value and not a tombstone."""
        try:
            return self._encode(value)
        except ENCODING_FAILED as error:
            raise EncodeError(f"cannot be written as {self.name}: {error}") from error

    def decode(self, data: bytes) -> Any:
        """The value of the document."""
        try:
            return self._decode(data)
        except DECODING_FAILED as error:
            raise DecodeError(
                f"not {self.name}: {error}", hint="the bytes codec shows what is there"
            ) from error
