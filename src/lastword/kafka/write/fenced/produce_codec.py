"""Version 9 of Kafka's Produce request with one batch, and its answer, as bytes."""

from __future__ import annotations

import struct

from lastword.kafka.write.fenced.sending import LeaderAnswer

VERSION = 9
_PRODUCE = 0
_ACKS_ALL = -1
_HEADER = struct.Struct(">ihhi")  # size, request, version, correlation id
_TIMEOUT = struct.Struct(">hi")  # acks, timeout
_NUMBER = struct.Struct(">i")
_ANSWER = struct.Struct(">hq")  # error code, first offset
_ONE = b"\x02"  # the length of an array or text is written as one more: 0 is none
_NONE = b"\x00"  # no text, and no tagged fields


class ProduceCodec:
    """Encodes the requests for one partition, and decodes the answers."""

    def __init__(self, client_id: str, topic: str, partition: int) -> None:
        client, name = client_id.encode(), topic.encode()
        self._client = struct.pack(">h", len(client)) + client + _NONE + _NONE
        place = _ONE + _varint(len(name) + 1) + name + _ONE + _NUMBER.pack(partition)
        self._place = place
        self._answer_start = _NONE + place

    def request(self, correlation_id: int, batch: bytes, timeout_ms: int) -> bytes:
        """The request, with acks from all in-sync replicas."""
        body = b"".join(
            (
                self._client,
                _TIMEOUT.pack(_ACKS_ALL, timeout_ms),
                self._place,
                _varint(len(batch) + 1),
                batch,
                _NONE * 3,
            )
        )
        size = _HEADER.size - _NUMBER.size + len(body)
        return _HEADER.pack(size, _PRODUCE, VERSION, correlation_id) + body

    def answer(self, correlation_id: int, frame: bytes) -> LeaderAnswer:
        """The answer to that request, without the size before it; raises ValueError."""
        start = _NUMBER.pack(correlation_id) + self._answer_start
        if not frame.startswith(start) or len(frame) < len(start) + _ANSWER.size:
            raise ValueError(f"not an answer to the request: {frame[:64]!r}")
        return LeaderAnswer(*_ANSWER.unpack_from(frame, len(start)))


def _varint(number: int) -> bytes:
    """An unsigned number, seven bits per byte, the lowest first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
