"""The codecs of single values: text, raw bytes and Java's long."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lastword.codecs.base import Column
from lastword.codecs.batches import NONE_BAD, DecodedBatch, decode_singly
from lastword.codecs.defaults import WholeKey
from lastword.errors import DecodeError, EncodeError
from lastword.lazy_numpy import np

_LONG = struct.Struct(">q")
_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,19}")


class StringCodec(WholeKey):
    """UTF-8, as Java's StringSerializer writes it."""

    name = wire = "string"
    column = Column("string", verbatim=True)

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

    def encode_batch(self, values: Sequence[str]) -> list[bytes]:
        """The texts in UTF-8."""
        try:
            return list(map(str.encode, values))
        except (TypeError, UnicodeEncodeError):
            return list(map(self.encode, values))  # raises for the bad one

    def decode(self, data: bytes) -> str:
        """The text."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(
                f"not UTF-8 text: {error}", hint="the bytes codec shows what is there"
            ) from error

    def check_batch(self, data: Sequence[bytes | None]) -> Mapping[int, DecodeError]:
        """Why some of a batch is bad, by index.

        Joined by line feeds, which are a part of no other character, all of it is UTF-8 only if
        each of it is.
        """
        try:
            b"\n".join(data).decode()  # type: ignore[arg-type]
        except (TypeError, UnicodeDecodeError):
            return decode_singly(self.decode, data).bad
        return NONE_BAD

    def column_value(self, data: bytes) -> str:
        """The text itself, not its JSON."""
        return data.decode()

    def prefix(self, value: str) -> bytes:
        """The keys that begin with this text."""
        return self.encode(value)

    def text_prefix(self, text: bytes) -> bytes:
        """The same bytes."""
        return text


class BytesCodec(WholeKey):
    """The bytes themselves; base64 in JSON."""

    name = wire = "bytes"

    def encode(self, value: bytes) -> bytes:
        """The same bytes; a bytearray or memoryview is copied, because stores keep references."""
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

    def decode_batch(self, data: Sequence[bytes | None]) -> DecodedBatch:
        """The same bytes."""
        return DecodedBatch(list(data), NONE_BAD)

    def from_json(self, document: bytes) -> bytes:
        """The bytes of a text in base64."""
        try:
            return base64.b64decode(msgspec.json.decode(document, type=str), validate=True)
        except (binascii.Error, ValueError) as error:
            raise EncodeError(
                f"not base64: {error}", hint="write bytes as a JSON string of base64"
            ) from error

    def prefix(self, value: bytes) -> bytes:
        """The keys that begin with these bytes."""
        return self.encode(value)

    def text_prefix(self, text: bytes) -> bytes:
        """The same bytes."""
        return text


class Int64Codec(WholeKey):
    """Java's LongSerializer: eight bytes, big-endian, two's complement.

    As keys, the numbers from 0 up are in order and every negative number sorts above them.
    """

    name = wire = "int64"
    column = Column("int64")

    def encode(self, value: int) -> bytes:
        """Eight bytes."""
        try:
            return _LONG.pack(value)
        except struct.error as error:
            raise EncodeError(
                f"{value!r} is not a 64-bit integer",
                hint="int64 holds whole numbers from -2**63 to 2**63 - 1",
            ) from error

    def encode_batch(self, values: Sequence[int]) -> list[bytes]:
        """Eight bytes for each number."""
        try:
            data = struct.pack(f">{len(values)}q", *values)
        except struct.error:
            return list(map(self.encode, values))  # raises for the bad one
        return [data[i : i + _LONG.size] for i in range(0, len(data), _LONG.size)]

    def decode_batch(self, data: Sequence[bytes | None]) -> DecodedBatch:
        """The numbers, all at once if each has eight bytes."""
        given = [each for each in data if each is not None]
        if {*map(len, given)} - {_LONG.size}:
            return decode_singly(self.decode, data)
        numbers: Sequence[int] = struct.unpack(f">{len(given)}q", b"".join(given))
        if len(given) == len(data):
            return DecodedBatch(list(numbers), NONE_BAD)
        following = iter(numbers)
        return DecodedBatch([None if each is None else next(following) for each in data], NONE_BAD)

    def decode(self, data: bytes) -> int:
        """The number; raises DecodeError for anything but eight bytes."""
        try:
            number: int = _LONG.unpack(data)[0]
        except struct.error as error:
            raise DecodeError(
                f"an int64 has 8 bytes, not {len(data)}", hint="the bytes codec shows what is there"
            ) from error
        return number

    def parse(self, text: bytes) -> bytes:
        """The number from its canonical decimal text."""
        if not _NUMBER.fullmatch(text):
            raise EncodeError(
                f"{text.decode(errors='replace')!r} is not an int64",
                hint="write a whole number in decimal, without leading zeros",
            )
        return self.encode(int(text))

    def text(self, data: bytes) -> str | None:
        """The number in decimal."""
        return str(_LONG.unpack(data)[0]) if len(data) == _LONG.size else None

    def column_values(self, data: Sequence[bytes | None]) -> Sequence[Any]:
        """The whole batch at once if no value is missing."""
        if all(each is not None and len(each) == _LONG.size for each in data):
            numbers = np.frombuffer(b"".join(data), dtype=">i8")  # type: ignore[arg-type]
            return numbers.astype(np.int64)  # type: ignore[return-value]
        return super().column_values(data)

    def column_value(self, data: bytes) -> int:
        """The number."""
        return self.decode(data)
