"""A blocking connection: a socket, with TLS or without."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

from lastword.client.http.address import Address
from lastword.client.http.failures import AnswerLostError, NotSentError
from lastword.client.http.response_reader import ResponseReader

CONNECT_TIMEOUT_S = 5.0
OWNER_CONNECT_TIMEOUT_S = 1.0
"""The same for an owner: the service that the client was given can be asked instead."""
READ_BYTES = 256 << 10


class BlockingConnection:
    """Raises NotSentError until the first byte of a request is sent, AnswerLostError after it."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._origin = address.origin
        try:
            self._socket = socket.create_connection((address.host, address.port), timeout_s)
        except OSError as error:
            raise not_reachable(address.origin, error) from error
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.tls is not None:
                self._socket = address.tls.wrap_socket(self._socket, server_hostname=address.host)
        except OSError as error:
            self._socket.close()
            raise not_reachable(address.origin, error) from error

    def is_usable(self) -> bool:
        """Whether the service has kept an idle connection open, as far as can be seen."""
        if isinstance(self._socket, ssl.SSLSocket):
            return True  # the bytes may be a session ticket; only a request can tell
        try:
            self._socket.settimeout(0)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False  # the end, or bytes that nobody asked for

    def send(self, data: bytes, timeout_s: float) -> None:
        """Send a whole request."""
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(error) from error

    def read_into(self, reader: ResponseReader, timeout_s: float) -> None:
        """Wait for more of the answer."""
        try:
            self.wait_and_read(reader, timeout_s)
        except TimeoutError as error:
            raise self._lost(error) from error

    def wait_and_read(self, reader: ResponseReader, timeout_s: float) -> None:
        """The same, but a timeout raises TimeoutError, after which reading may continue."""
        try:
            self._socket.settimeout(timeout_s)
            data = self._socket.recv(READ_BYTES)
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:
            raise self._lost(error) from error
        if data:
            reader.feed(data)
        else:
            reader.end()

    def close(self, first: int | None = None) -> None:
        """Close it; with ``first``, shut it down before, which wakes a thread that reads."""
        with suppress(OSError):
            if first is not None:
                self._socket.shutdown(first)
        self._socket.close()

    def _lost(self, error: Exception) -> AnswerLostError:
        return answer_lost(self._origin, error)


def not_reachable(origin: str, error: Exception) -> NotSentError:
    """The error of a connection that was not made."""
    return NotSentError(
        f"the service at {origin} cannot be reached: {reason_of(error)}",
        hint="check the address, and that `lastword serve` runs there",
    )


def answer_lost(origin: str, error: Exception) -> AnswerLostError:
    """The error of a request that was sent and not answered."""
    return AnswerLostError(
        f"the service at {origin} did not answer: {reason_of(error)}",
        hint="check that it still runs, and connect with a longer timeout= if it is busy",
    )


def reason_of(error: Exception) -> str:
    """The system's error message."""
    if isinstance(error, TimeoutError):
        return "time ran out"
    return str(error) or type(error).__name__
