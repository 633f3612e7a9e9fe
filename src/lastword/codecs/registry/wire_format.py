"""Confluent's wire format: the id of the schema, and the document.

    0 and four bytes     the id of the schema in its registry
    1 and sixteen bytes  the GUID of the schema, the same in every registry

The id stands in front of the document or in a header of the record. A header's value followed by
the document has exactly the form of a document with the id in front, so only that form is decoded.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence

from lastword.codecs.base import Part
from lastword.errors import DecodeError

SchemaId = int | uuid.UUID
"""The number of a schema in one registry, or its GUID."""

_NUMBERED = struct.Struct(">bI")
NUMBER_BYTES = _NUMBERED.size
_GUID_MAGIC = 1
GUID_BYTES = 17
ID_HEADERS: Mapping[Part, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}


def id_bytes_of(schema_id: SchemaId) -> bytes:
    """The id as it stands before a document."""
    if isinstance(schema_id, int):
        return _NUMBERED.pack(0, schema_id)
    return bytes([_GUID_MAGIC]) + schema_id.bytes


def document_start(data: bytes) -> int:
    """Where the document begins in data that ``schema_id_of`` accepts."""
    return GUID_BYTES if data[0] else NUMBER_BYTES


def common_id(data: Sequence[bytes | None]) -> bytes | None:
    """The first of ``data`` if all of it begins with the same number; else None."""
    first = data[0] if data else None
    if first is None or len(first) < NUMBER_BYTES or first[0]:
        return None
    id_bytes = first[:NUMBER_BYTES]
    same = all(each is not None and each.startswith(id_bytes) for each in data)
    return first if same else None


def schema_id_of(data: bytes) -> SchemaId:
    """The id of the schema that wrote ``data``; raises DecodeError if there is none."""
    magic = data[0] if data else 0
    if magic > _GUID_MAGIC:
        raise DecodeError(
            f"the first byte is {magic:#04x}, not the 0 or 1 before a schema id",
            hint="the record was not written with a schema registry; the bytes codec shows it",
        )
    if len(data) < (GUID_BYTES if magic else NUMBER_BYTES):
        raise DecodeError(
            f"{len(data)} bytes are too short for a schema id",
            hint="the record was not written with a schema registry; the bytes codec shows it",
        )
    if magic:
        return uuid.UUID(bytes=data[1:GUID_BYTES])
    return int(_NUMBERED.unpack_from(data)[1])
