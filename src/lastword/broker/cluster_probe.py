"""Asks a broker, in Kafka's own protocol, who is in its cluster.

An open port or a line in the log proves only that a socket is bound. A Metadata response that
lists a broker proves more: that broker has caught up with the cluster's metadata, has
registered itself and was let in by the controller (KRaft lists no broker it still fences), so
topics can be created and led by it. Only ``lastword.kafka`` may use a Kafka client, and this
one request of a fixed old version, and the login before it, is all that is needed here.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from lastword.broker.login import MECHANISM, BrokerLogin

_METADATA, _SASL_HANDSHAKE, _SASL_AUTHENTICATE = 3, 17, 36
# That of metadata has the cluster id; none has the newer compact encodings.
_VERSIONS = {_METADATA: 4, _SASL_HANDSHAKE: 1, _SASL_AUTHENTICATE: 0}
_CORRELATION_ID = 1
_MOST_BYTES = 1 << 20  # more than any answer about no topics can have


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster as one broker reports it."""

    cluster_id: str | None
    controller_id: int
    broker_ids: frozenset[int]


def ask(host: str, port: int, timeout: float, login: BrokerLogin | None = None) -> ClusterView:
    """The cluster as seen by the broker at ``host:port``; OSError when there is no answer."""
    no_topics, no_auto_creation = 0, False
    try:
        with socket.create_connection((host, port), timeout=timeout) as connection:
            if login is not None:
                _log_in(connection, login)
            body = struct.pack(">i?", no_topics, no_auto_creation)
            return _parse(_exchange(connection, _METADATA, body))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise OSError(f"{host}:{port} does not speak Kafka's protocol") from error


def _log_in(connection: socket.socket, login: BrokerLogin) -> None:
    mechanism, token = MECHANISM.encode(), "\0".join(("", *login)).encode()
    for key, body in (
        (_SASL_HANDSHAKE, struct.pack(">h", len(mechanism)) + mechanism),
        (_SASL_AUTHENTICATE, struct.pack(">i", len(token)) + token),
    ):
        answer = _Fields(_exchange(connection, key, body))
        answer.int32()  # correlation id
        if answer.int16() != 0:
            raise PermissionError("the broker refuses the login")


def _exchange(connection: socket.socket, key: int, body: bytes) -> bytes:
    """Send one request and return the answer to it."""
    header = struct.pack(">hhih", key, _VERSIONS[key], _CORRELATION_ID, -1)  # -1: no client id
    request = header + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _receive(connection, 4))
    if not 0 < size < _MOST_BYTES:
        raise struct.error("no answer is of that size")
    return _receive(connection, size)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        if not (more := connection.recv(size - len(received))):
            raise ConnectionResetError("the broker closed the connection")
        received += more
    return received


def _parse(answer: bytes) -> ClusterView:
    fields = _Fields(answer)
    fields.int32()  # correlation id
    fields.int32()  # throttle time
    broker_ids = set()
    for _ in range(fields.int32()):
        broker_ids.add(fields.int32())
        fields.string()  # host
        fields.int32()  # port
        fields.string()  # rack
    return ClusterView(fields.string(), fields.int32(), frozenset(broker_ids))


class _Fields:
    """Reads the fields of a response one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int32(self) -> int:
        (value,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(value)

    def int16(self) -> int:
        (value,) = struct.unpack_from(">h", self._data, self._at)
        self._at += 2
        return int(value)

    def string(self) -> str | None:
        length = self.int16()
        if length < 0:
            return None
        self._at += length
        return self._data[self._at - length : self._at].decode()
