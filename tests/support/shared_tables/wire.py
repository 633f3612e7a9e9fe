"""Produce requests made by hand: records and sequences that no client library would send."""

from __future__ import annotations

import socket
import struct
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection

with warnings.catch_warnings():
    # kafka-python reads its own files with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.protocol.producer import ProduceRequest, ProduceResponse
    from kafka.record.default_records import DefaultRecordBatchBuilder

_VERSION = 7
_TIMEOUT_S = 180.0


class RawName(str):
    """A header name with exactly these bytes, text or not: the record builder encodes names."""

    __slots__ = ("raw",)
    raw: bytes

    def __new__(cls, raw: bytes) -> RawName:
        name = super().__new__(cls, raw.decode("latin-1"))
        name.raw = raw
        return name

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return self.raw


class ProducerState(NamedTuple):
    """Who writes, as the broker knows it, and the number of the next record."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


class RawRecord(NamedTuple):
    """A record to write; header names may be ``RawName``."""

    key: bytes
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


def produce_raw(
    connection: Connection,
    topic: str,
    records: Sequence[RawRecord],
    *,
    partition: int = 0,
    state: ProducerState | None = None,
) -> None:
    """Append one batch through its own connection, to the only broker of a cluster."""
    state = state or ProducerState()
    batch = DefaultRecordBatchBuilder(2, 0, False, *state, 1 << 20)
    for number, record in enumerate(records):
        batch.append(number, None, record.key, record.value, list(record.headers))
    data = ProduceRequest.TopicProduceData
    rows = data.PartitionProduceData(index=partition, records=bytes(batch.build()))
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=int(_TIMEOUT_S * 1000),
        topic_data=[data(name=topic, partition_data=[rows])],
    )
    request.API_VERSION = _VERSION
    request.with_header(correlation_id=1, client_id="raw")
    answer = _ask(connection, request.encode(header=True, framed=True))
    response = ProduceResponse.decode(answer, version=_VERSION, header=True)
    assert response.responses[0].partition_responses[0].error_code == 0, response


def producer_of(connection: Connection, topic: str, partition: int = 0) -> ProducerState:
    """The one producer that the broker knows of this partition, and what it would send next."""
    place = TopicPartition(topic, partition)
    with wire_admin(connection, doing="describing producers") as admin:
        (found,) = admin.describe_producers([place])[place].active_producers
    return ProducerState(found.producer_id, found.producer_epoch, found.last_sequence + 1)


def _ask(connection: Connection, request: bytes) -> bytes:
    host, port = connection.bootstrap_servers.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), _TIMEOUT_S) as stream:
        stream.sendall(request)
        answers = stream.makefile("rb")
        (size,) = struct.unpack(">i", answers.read(4))
        return answers.read(size)
