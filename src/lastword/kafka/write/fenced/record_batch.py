"""Encodes records as one batch of Kafka's log, in its format 2.

kafka-python's builder gives the same bytes, and takes almost three times as long: 110 us instead of
40 us of CPU time for 32 small records.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.fence import Holder
from lastword.records import Write

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
    data = _encode_records(records, times)
    attributes = _PLAIN
    if has_lz4() and len(compressed := lz4_encode(data)) < len(data):
        data, attributes = compressed, _LZ4
    count = len(records)
    rest = _REST.pack(attributes, count - 1, times[0], max(times), *holder, sequence, count) + data
    length = _START.size - _AFTER_LENGTH + len(rest)
    return _START.pack(0, length, 0, _MAGIC, calc_crc32c(memoryview(rest))) + rest


def _encode_records(records: Sequence[Write], times: Sequence[int]) -> bytes:
    """The records one after the other; one loop, because a call for each part would be felt."""
    encoded: list[bytes] = []
    varint, join, first_ms = _VARINTS, b"".join, times[0]
    for number, (key, value, headers, _, _, _, _) in enumerate(records):
        later_ms = times[number] - first_ms
        parts = [_NO_ATTRIBUTES, varint[later_ms], varint[number], varint[len(key)], key]
        parts += _NULL if value is None else (varint[len(value)], value)
        parts.append(varint[len(headers)])
        for name, each in headers:
            parts.append(_encode_name(name))
            parts += _NULL if each is None else (varint[len(each)], each)
        body = join(parts)
        encoded += (varint[len(body)], body)
    return join(encoded)


@lru_cache(1000)
def _encode_name(name: str) -> bytes:
    encoded = name.encode()
    return _VARINTS[len(encoded)] + encoded


class _Varints(dict[int, bytes]):
    """Signed numbers, seven bits per byte, the lowest first: small ones are looked up."""

    def __missing__(self, number: int) -> bytes:
        return _encode_varint(number)


def _encode_varint(number: int) -> bytes:
    left = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)


_VARINTS = _Varints((number, _encode_varint(number)) for number in range(4096))
_NO_ATTRIBUTES = b"\x00"
_NULL = (_encode_varint(-1),)
