"""A connection of kafka-python to a leader that answers as a test says."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.direct_producer import DirectProducer
from lastword.kafka.write.fenced.sending import LeaderAnswer, NoAnswerError

with kafka_python_imported():
    from kafka.net.connection import KafkaConnection
    from kafka.net.selector import NetworkSelector
    from kafka.net.transport import KafkaTCPTransport
    from kafka.protocol.broker_version_data import BrokerVersionData

TOPIC, PARTITION = "t", 0
PATIENT_MS = 60_000
LARGE = bytes(4 << 20)  # more than fits into the buffers of a socket

Reply = Callable[[int], list[bytes]]
"""(correlation id) -> what the leader sends, piece by piece; nothing closes the connection."""


def answered(number: int, offset: int = 5) -> bytes:
    frame = struct.pack(">iB", number, 0) + b"\x02\x02t\x02" + struct.pack(">ihq", 0, 0, offset)
    return struct.pack(">i", len(frame)) + frame


class Leader:
    """Reads one request after another, and answers each with the next reply."""

    def __init__(self, sock: socket.socket, *replies: Reply) -> None:
        self._sock = sock
        self._replies = replies
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(PATIENT_MS / 1000)

    def _run(self) -> None:
        # The other side may close it at any time.
        with closing(self._sock), suppress(OSError, struct.error):
            for reply in self._replies:
                (size,) = struct.unpack(">i", self._read(4))
                (number,) = struct.unpack_from(">i", self._read(size), 4)
                for piece in reply(number):
                    self._sock.sendall(piece)
            self._sock.settimeout(PATIENT_MS / 1000)
            self._sock.recv(1)  # until the other side closes it

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size and (part := self._sock.recv(size - len(data))):
            data += part
        return bytes(data)


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        here = socket.create_connection(listening.getsockname())
        there, _ = listening.accept()
    with here, there:
        yield here, there


def connected(sock: socket.socket) -> Any:
    sock.setblocking(False)
    net = NetworkSelector()
    connection = KafkaConnection(net, node_id=1, broker_version_data=BrokerVersionData((2, 8)))
    connection.connection_made(KafkaTCPTransport(net, sock))
    connection.initializing, connection.connected = False, True
    return connection


@pytest.fixture
def connect(sockets: tuple[socket.socket, socket.socket]) -> Iterator[Callable[..., Any]]:
    here, there = sockets
    connection = connected(here)
    leaders: list[Leader] = []

    def connect_to(*replies: Reply) -> Any:
        leaders.append(Leader(there, *replies))
        return connection

    yield connect_to
    connection.close()
    connection.net.close()
    for leader in leaders:
        leader.join()


def send(connection: Any, batch: bytes = b"batch", timeout_ms: int = PATIENT_MS) -> Any:
    return DirectProducer(TOPIC, PARTITION).send(connection, batch, timeout_ms)


def test_the_answer_of_the_leader_is_returned(connect: Any) -> None:
    connection = connect(lambda n: [answered(n, 5)], lambda n: [answered(n, 6)])
    assert send(connection) == LeaderAnswer(0, 5)
    assert send(connection) == LeaderAnswer(0, 6)


def test_an_answer_may_come_in_pieces_and_a_request_may_be_large(connect: Any) -> None:
    connection = connect(lambda n: [bytes((byte,)) for byte in answered(n)])
    assert send(connection, LARGE) == LeaderAnswer(0, 5)


@pytest.mark.parametrize(
    "reply",
    [
        lambda n: [answered(n + 1)],
        lambda n: [struct.pack(">i", 1 << 30)],
        lambda n: [struct.pack(">i", 3) + b"odd"],
    ],
)
def test_a_connection_with_an_answer_that_is_not_ours_is_closed(connect: Any, reply: Any) -> None:
    connection = connect(reply)
    with pytest.raises(NoAnswerError):
        send(connection)
    assert not connection.connected


def test_without_an_answer_in_time_the_connection_is_closed(connect: Any) -> None:
    connection = connect(lambda n: [])
    with pytest.raises(NoAnswerError, match="in time"):
        send(connection, timeout_ms=20)
    assert not connection.connected


def test_a_leader_that_hangs_up_gives_no_answer(
    connect: Any, sockets: tuple[socket.socket, socket.socket]
) -> None:
    connection = connect()
    sockets[1].shutdown(socket.SHUT_RDWR)
    with pytest.raises(NoAnswerError):
        send(connection)
    assert not connection.connected


@pytest.mark.parametrize("busy", ["paused", "in_flight_requests", "reauthenticating", "buffer"])
def test_a_connection_in_use_is_left_to_the_library(connect: Any, busy: str) -> None:
    connection = connect()
    if busy == "paused":
        connection.pause("throttle")
    elif busy == "in_flight_requests":
        connection.in_flight_requests.append((1, None, 0.0, 0.0, None))
    elif busy == "reauthenticating":
        connection._reauth._reauthenticating = True
    else:
        connection.transport._write_buffer.append(b"rest")
    assert send(connection) is None
    connection.in_flight_requests.clear()


def test_a_broker_without_this_version_is_left_to_the_library(connect: Any) -> None:
    connection = connect()
    connection.broker_version_data = BrokerVersionData((1, 0))
    assert send(connection) is None
