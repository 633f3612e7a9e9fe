"""Confluent's wire format: a zero byte, the schema id in four bytes, the document."""

from __future__ import annotations

import struct

from lastword.errors import DecodeError

_HEADER = struct.Struct(">bI")
HEADER_BYTES = _HEADER.size


def with_id(schema_id: int, document: bytes) -> bytes:
    """The document with its schema id in front."""
    return _HEADER.pack(0, schema_id) + document


def schema_id_of(data: bytes) -> int:
    """The id of the schema that wrote ``data``; raises DecodeError if there is none."""
    if len(data) < HEADER_BYTES:
        raise DecodeError(
            f"{len(data)} bytes are too short for a schema id",
            hint="the record was not written with a schema registry; the bytes codec shows it",
        )
    magic, schema_id = _HEADER.unpack_from(data)
    if magic != 0:
        raise DecodeError(
            f"the first byte is {magic & 0xFF:#04x}, not the zero before a schema id",
            hint="the record was not written with a schema registry; the bytes codec shows it",
        )
    return int(schema_id)
