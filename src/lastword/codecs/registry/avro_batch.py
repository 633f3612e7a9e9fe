"""Many Avro documents of one schema, decoded by one call of native code.

Avro documents have no length. The documents of a batch become the items of one array, each followed
by an end mark. A document that is shorter or longer than its schema says moves the marks of all
later ones, so it is noticed, whatever its bytes are: nobody can guess the mark.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import fastavro

CHUNK = 1000
"""How many documents are decoded at once; a bad one makes its chunk be decoded again, singly."""
CHUNK_BYTES_MAX = 16 << 20
"""A larger chunk is not copied: large documents gain nothing."""

# What fastavro raises for invalid bytes: it checks little and fails in many ways.
UNREADABLE = (
    EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError,
    MemoryError, ArithmeticError, StopIteration,
)  # fmt: skip

_END = secrets.token_bytes(8)
_LAST_BLOCK = b"\x00"


def array_of(described: Any) -> Any:
    """The schema of the array whose items are documents of ``described`` with their end marks.

    Its names have no namespace, which the names in ``described`` would inherit.
    """
    end = {"type": "fixed", "name": "_LastwordEnd", "size": len(_END)}
    fields = [{"name": "value", "type": described}, {"name": "end", "type": end}]
    return {"type": "array", "items": {"type": "record", "name": "_LastwordItem", "fields": fields}}


def decode_together(documents: Sequence[bytes], writer: Any, reader: Any) -> list[Any] | None:
    """The values of the documents; None if one of them is bad, or they are too large.

    ``writer`` and ``reader`` are parsed schemas of ``array_of``; the reader's may be None.
    """
    data = b"".join((_count(len(documents)), _END.join(documents), _END, _LAST_BLOCK))
    if len(data) > CHUNK_BYTES_MAX:
        return None
    stream = BytesIO(data)
    try:
        items: Any = fastavro.schemaless_reader(stream, writer, reader)
    except UNREADABLE:
        return None
    values = [item["value"] for item in items if item["end"] == _END]
    whole = len(values) == len(documents) and stream.tell() == len(data)
    return values if whole else None


def _count(number: int) -> bytes:
    """An Avro long: zigzag, then seven bits a byte, the lowest first."""
    left = number << 1
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)
