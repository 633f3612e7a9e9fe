"""Sends a batch over a connection of kafka-python, without its event loop.

The library's loop and its encoding take half a millisecond of processor time for a request. A
connection that is idle and ready is a socket on which one request can be sent and its answer read
in a tenth of that. Whatever is unusual is left to the library: TLS, a connection that is being
authenticated again, other requests that wait for an answer, a broker without this version.
"""

from __future__ import annotations

import itertools
import select
import time
from typing import Any

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.produce_codec import VERSION, ProduceCodec
from lastword.kafka.write.fenced.sending import LeaderAnswer, NoAnswerError

with kafka_python_imported():
    from kafka.errors import KafkaConnectionError
    from kafka.net.transport import KafkaTCPTransport
    from kafka.protocol.producer import ProduceRequest

_SIZE_BYTES = 4
_LARGEST_ANSWER_BYTES = 1 << 20
_READ_BYTES = 4096


class DirectProducer:
    """Sends batches for one partition. Used by one thread, the one that runs the loop."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic, self._partition = topic, partition
        self._numbers = itertools.count(1)
        self._known: tuple[Any, ProduceCodec | None] = (None, None)

    def send(self, connection: Any, batch: bytes, timeout_ms: int) -> LeaderAnswer | None:
        """The leader's answer; None if the library has to send the batch: nothing was sent.

        Raises NoAnswerError, and then the connection is closed: no late answer arrives.
        """
        codec = self._codec(connection)
        if codec is None or not _is_idle(connection):
            return None
        number = next(self._numbers) & 0x7FFF_FFFF
        transport = connection.transport
        deadline = time.monotonic() + timeout_ms / 1000
        try:
            _send(transport._sock, codec.request(number, batch, timeout_ms), deadline)
            answer = codec.answer(number, _receive(transport._sock, deadline))
        except (OSError, ValueError) as error:
            transport.abort(error=KafkaConnectionError(str(error)))
            raise NoAnswerError(str(error) or type(error).__name__) from error
        except BaseException:
            connection.close()  # its answer must not be taken for that of another request
            raise
        # As the library does it: connections are closed when they were not used for long.
        transport.last_write = transport.last_read = time.monotonic()
        return answer

    def _codec(self, connection: Any) -> ProduceCodec | None:
        """For this connection; None if it needs the library."""
        known, codec = self._known
        if known is not connection:
            codec = None
            if _is_plain(connection):
                client_id = connection.config["client_id"]
                codec = ProduceCodec(client_id, self._topic, self._partition)
            self._known = connection, codec
        return codec


# These belong to the library alone; a later version without one of them sends everything itself.
_OF_CONNECTION = ("connected", "paused", "in_flight_requests", "_reauth", "broker_version_data")
_OF_TRANSPORT = ("_sock", "_write_buffer", "last_read", "last_write", "abort")


def _is_plain(connection: Any) -> bool:
    transport = connection.transport
    if type(transport) is not KafkaTCPTransport or not hasattr(select, "poll"):
        return False
    versions = getattr(connection, "broker_version_data", None)
    return (
        all(hasattr(connection, name) for name in _OF_CONNECTION)
        and all(hasattr(transport, name) for name in _OF_TRANSPORT)
        and hasattr(connection._reauth, "is_reauthenticating")
        and versions is not None
        and versions.api_version(ProduceRequest) >= VERSION
    )


def _is_idle(connection: Any) -> bool:
    """Whether nothing else uses the connection, so that the next answer is ours."""
    transport = connection.transport
    return (
        connection.connected
        and not connection.paused
        and not connection.in_flight_requests
        and not connection._reauth.is_reauthenticating
        and transport is not None
        and transport._sock is not None
        and not transport._write_buffer
    )


def _send(sock: Any, data: bytes, deadline: float) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[sock.send(left) :]
        except BlockingIOError:
            _wait(sock, select.POLLOUT, deadline)


def _receive(sock: Any, deadline: float) -> bytes:
    """One answer, without its size; raises ValueError if there is more."""
    data = b""
    expected = _SIZE_BYTES
    while len(data) < expected:
        _wait(sock, select.POLLIN, deadline)
        part = sock.recv(_READ_BYTES)
        if not part:
            raise ConnectionResetError("the broker closed the connection")
        data += part
        if len(data) >= _SIZE_BYTES:
            size = int.from_bytes(data[:_SIZE_BYTES], "big")
            if size > _LARGEST_ANSWER_BYTES:
                raise ValueError(f"an answer of {size} bytes")
            expected = _SIZE_BYTES + size
    if len(data) > expected:
        raise ValueError("more than one answer to one request")
    return data[_SIZE_BYTES:]


def _wait(sock: Any, event: int, deadline: float) -> None:
    ready = select.poll()
    ready.register(sock, event)
    left_s = deadline - time.monotonic()
    if left_s <= 0 or not ready.poll(left_s * 1000):
        raise TimeoutError("no answer in time")
