"""How a record is kept in a store: a short prefix, then the raw value.

    format and flags  1 byte    high half: format version; low half: which extras follow
    offset            8 bytes   big-endian
    timestamp         8 bytes   milliseconds since the epoch
    expiry            8 bytes   only with HAS_EXPIRY: milliseconds since the epoch
    headers           4 + n     only with HAS_HEADERS: length, then msgpack

The expiry is that of the record's header, which stays among the headers; here it is found
without unpacking them. A store whose rows have another format version is rebuilt, never guessed
at.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lastword.expiry import expires_at_in
from lastword.lazy_numpy import np
from lastword.records import NO_HEADERS, Headers

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROW_FORMAT = 1
_PLAIN = ROW_FORMAT << 4
HAS_EXPIRY = 0x01
"""In the first byte of a row that expires: asked where a call for every row would be felt."""
_HAS_HEADERS = 0x02

_PREFIX = struct.Struct(">Bqq")
_EXPIRY = struct.Struct(">q")
_HEADERS_SIZE = struct.Struct(">I")
PREFIX_BYTES = _PREFIX.size
_EXPIRY_END = PREFIX_BYTES + _EXPIRY.size

pack_prefix = _PREFIX.pack
PLAIN_ROW = _PLAIN
"""The first byte of a row without extras: ``pack_prefix(PLAIN_ROW, offset, timestamp) + value``."""

# Filling the columns takes 10 us however few the rows are; a live table gets them one at a time.
_FEW_ROWS = 16

NEVER_DUE_MS = -1
"""As the current time: no row has expired yet."""

_encode_headers = msgspec.msgpack.Encoder().encode
_decode_headers = msgspec.msgpack.Decoder(tuple[tuple[str, bytes | None], ...]).decode


class Row(NamedTuple):
    """A stored record, taken apart; ``value`` is raw bytes and never None."""

    offset: int
    timestamp_ms: int
    headers: Headers
    value: bytes
    expires_at_ms: int | None = None


@cache
def prefix_columns() -> np.dtype[np.void]:
    """The same prefix as numpy lays it out. A plain row is this and the value."""
    return np.dtype([("format", "u1"), ("offset", ">i8"), ("timestamp", ">i8")])


def plain_prefixes(offsets: NDArray[np.int64], timestamps: NDArray[np.int64]) -> NDArray[np.void]:
    """What comes before the value in each row that has no headers."""
    prefixes = np.empty(len(offsets), prefix_columns())
    prefixes["format"] = _PLAIN
    prefixes["offset"] = offsets
    prefixes["timestamp"] = timestamps
    return prefixes


def plain_rows(
    offsets: NDArray[np.int64], timestamps: NDArray[np.int64], values: Sequence[bytes]
) -> list[bytes]:
    """Many rows without headers: a third of the time that as many ``encode_row`` take."""
    if len(values) < _FEW_ROWS:
        times = zip(offsets.tolist(), timestamps.tolist(), values, strict=True)
        return [pack_prefix(_PLAIN, offset, time_ms) + value for offset, time_ms, value in times]
    prefixes: list[bytes] = plain_prefixes(offsets, timestamps).view(f"V{PREFIX_BYTES}").tolist()
    return list(map(add, prefixes, values))


def encode_row(offset: int, timestamp_ms: int, headers: Headers | None, value: bytes) -> bytes:
    """A row as a store keeps it; one of the headers may say when it expires."""
    if not headers:
        return pack_prefix(_PLAIN, offset, timestamp_ms) + value
    packed = _encode_headers(headers)
    packed = _HEADERS_SIZE.pack(len(packed)) + packed
    expires_at_ms = expires_at_in(headers)
    if expires_at_ms is None:
        return pack_prefix(_PLAIN | _HAS_HEADERS, offset, timestamp_ms) + packed + value
    prefix = pack_prefix(_PLAIN | _HAS_HEADERS | HAS_EXPIRY, offset, timestamp_ms)
    return prefix + _EXPIRY.pack(expires_at_ms) + packed + value


def decode_row(row: bytes) -> Row:
    """A row taken apart."""
    flags, offset, timestamp_ms = _PREFIX.unpack_from(row)
    if flags == _PLAIN:
        return Row(offset, timestamp_ms, NO_HEADERS, row[PREFIX_BYTES:])
    start, expires_at_ms = PREFIX_BYTES, None
    if flags & HAS_EXPIRY:
        (expires_at_ms,) = _EXPIRY.unpack_from(row, start)
        start = _EXPIRY_END
    (size,) = _HEADERS_SIZE.unpack_from(row, start)
    start += _HEADERS_SIZE.size
    headers = _decode_headers(row[start : start + size])
    return Row(offset, timestamp_ms, headers, row[start + size :], expires_at_ms)


def value_of(row: bytes) -> bytes:
    """Only the raw value."""
    return row[PREFIX_BYTES:] if row[0] == _PLAIN else decode_row(row).value


def headers_and_value_of(row: bytes) -> tuple[Headers, bytes]:
    """The headers and the raw value."""
    if row[0] == _PLAIN:
        return NO_HEADERS, row[PREFIX_BYTES:]
    found = decode_row(row)
    return found.headers, found.value


def value_and_time_of(row: bytes) -> tuple[bytes, int]:
    """The raw value and the timestamp."""
    flags, _, timestamp_ms = _PREFIX.unpack_from(row)
    return row[PREFIX_BYTES:] if flags == _PLAIN else decode_row(row).value, timestamp_ms


def offset_of(row: bytes) -> int:
    """Only the offset, for passes over many rows."""
    return int.from_bytes(row[1:9], "big")


def timestamp_of(row: bytes) -> int:
    """Only the timestamp."""
    return int.from_bytes(row[9:17], "big", signed=True)


def expires_at_of(row: bytes) -> int | None:
    """Only the moment at which the row expires; None for one that does not."""
    if not row[0] & HAS_EXPIRY:
        return None
    return int.from_bytes(row[PREFIX_BYTES:_EXPIRY_END], "big")


def is_due(row: bytes, now_ms: int) -> bool:
    """Whether the row has expired by that time; it stays in its store until its tombstone comes."""
    return bool(row[0] & HAS_EXPIRY) and now_ms >= int.from_bytes(
        row[PREFIX_BYTES:_EXPIRY_END], "big"
    )
