"""The listening socket: bound here rather than by Granian, so that it gets a write timeout.

Granian waits for a client that reads nothing for as long as the connection lives, and each such
client holds one of the limited connections. ``TCP_USER_TIMEOUT`` lets the kernel end a connection
whose peer acknowledges nothing, or keeps its window at zero, for that long. Accepted connections
inherit it. Linux has it; elsewhere the operating system's own limits apply.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from lastword.errors import ServiceError
from lastword.service.http.service_config import ServiceConfig


def bind(config: ServiceConfig) -> socket.socket:
    """Bind the port without accepting yet; raises ServiceError if it is in use."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    bound = socket.socket(family)
    try:
        # Not SO_REUSEPORT: two services on one port would answer at random.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            patience_ms = int(config.limits.arrival_s * 1000)
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience_ms)
        bound.bind((config.host, config.port))
    except OSError as error:
        bound.close()
        raise ServiceError(
            f"cannot listen on {config.host}:{config.port}: {error.strerror}",
            hint="stop the program that listens there, or choose another port: --port",
        ) from error
    return bound


class Listener(Server):
    """Granian on a socket that ``bind`` made; it closes the socket when it ends."""

    def __init__(self, bound: socket.socket, app: object, config: ServiceConfig) -> None:
        limits, tls = config.limits, config.tls
        super().__init__(
            app,
            address=config.host,
            port=config.port,
            interface=Interfaces.ASGINL,
            # HTTP/2 would read the first bytes of a connection without a time limit.
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(
                header_read_timeout=int(limits.arrival_s * 1000),
                max_buffer_size=limits.header_bytes,
            ),
            websockets=False,
            backpressure=limits.connections,
            log_enabled=False,
            ssl_cert=tls.certificate if tls else None,
            ssl_key=tls.key if tls else None,
            ssl_key_password=tls.key_password if tls else None,
        )
        self._bound = bound

    def _init_shared_socket(self) -> None:
        """Hand over the bound socket, as Granian does with its own between processes."""
        self._bound.listen(self.backlog)
        # On Linux the holder also takes how many connections may wait to be accepted.
        more = (self.backlog,) if sys.platform == "linux" else ()
        holder: Callable[..., Any] = SocketHolder
        self._shd = holder(self._bound.detach(), False, *more)
