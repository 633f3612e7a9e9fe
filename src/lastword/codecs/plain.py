"""The codecs of single values: text, raw bytes and Java's long."""

from __future__ import annotations

import struct

from lastword.codecs.base import WholeKey
from lastword.errors import DecodeError, EncodeError

_LONG = struct.Struct(">q")


class StringCodec(WholeKey):
    """UTF-8, as Java's StringSerializer writes it."""

    name = "string"

    def encode(self, value: str) -> bytes:
        """The text in UTF-8."""
        if not isinstance(value, str):
            raise EncodeError(
                f"a string codec takes str, not {type(value).__name__}",
                hint="choose another codec, such as json, or convert the value with str()",
            )
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise EncodeError(f"not text that UTF-8 can hold: {error}") from error

    def decode(self, data: bytes) -> str:
        """The text."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(
                f"not UTF-8 text: {error}", hint="the bytes codec shows what is there"
            ) from error

    def prefix(self, value: str) -> bytes:
        """The keys that begin with this text."""
        return self.encode(value)


class BytesCodec(WholeKey):
    """The bytes themselves."""

    name = "bytes"

    def encode(self, value: bytes) -> bytes:
        """The same bytes; a bytearray or a memoryview is copied, for stores keep what they get."""
        if isinstance(value, bytes):
            return value
        if not isinstance(value, bytearray | memoryview):
            raise EncodeError(
                f"a bytes codec takes bytes, not {type(value).__name__}",
                hint="choose another codec, such as string, or encode the value first",
            )
        return bytes(value)

    def decode(self, data: bytes) -> bytes:
        """The same bytes."""
        return data

    def prefix(self, value: bytes) -> bytes:
        """The keys that begin with these bytes."""
        return self.encode(value)


class Int64Codec(WholeKey):
    """Java's LongSerializer: eight bytes, big-endian, two's complement.

    As keys, the numbers from 0 up are in order and every negative number sorts above them.
    """

    name = "int64"

    def encode(self, value: int) -> bytes:
        """Eight bytes."""
        try:
            return _LONG.pack(value)
        except struct.error as error:
            raise EncodeError(
                f"{value!r} is not a 64-bit integer",
                hint="int64 holds whole numbers from -2**63 to 2**63 - 1",
            ) from error

    def decode(self, data: bytes) -> int:
        """The number; anything but eight bytes is refused."""
        try:
            number: int = _LONG.unpack(data)[0]
        except struct.error as error:
            raise DecodeError(
                f"an int64 has 8 bytes, not {len(data)}", hint="the bytes codec shows what is there"
            ) from error
        return number
