"""Clients that never read their answers held their connections forever.

There was no write timeout: as many sockets as there are connections, without a token, were enough
to shut everybody else out. The kernel now ends a connection whose client takes nothing for as
long as a slow writer is waited for. The clients here acknowledge everything and keep their
windows at zero, which no timer for lost packets notices.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from lastword.service import Limits
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving

LIMITS = Limits(connections=4, arrival_s=0.5)
# More than the kernel buffers for a connection, which is up to a few megabytes on both sides.
ANSWERS, VALUE = 80, "x" * 500_000


@pytest.fixture
def serving(serve: Serve) -> Serving:
    started = serve(limits=LIMITS)
    started.table.put("large", VALUE)
    return started


@pytest.fixture
def deaf(serving: Serving) -> Iterator[list[socket.socket]]:
    """As many connections as there may be, each with many requests and no reader."""
    request = b"GET /table/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as opened:
        sockets = []
        for _ in range(LIMITS.connections):
            one = opened.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", serving.config.port))
            one.sendall(request * ANSWERS)
            sockets.append(one)
        yield sockets


def test_others_are_served_once_the_deaf_are_cut_off(
    serving: Serving, deaf: list[socket.socket]
) -> None:
    with serving.client(None, timeout=180.0) as client:
        assert client.get("/health").status_code == 200
        assert client.get("/table/large").json() == VALUE


def test_the_connection_itself_is_ended(serving: Serving, deaf: list[socket.socket]) -> None:
    def ended(one: socket.socket) -> bool:
        try:
            one.send(b"\r\n")
        except OSError:
            return True
        return False

    for one in deaf:
        wait_until(lambda one=one: ended(one), "the connection to be ended")
    with httpx.Client(base_url=serving.url, timeout=180, trust_env=False) as client:
        assert client.get("/health").status_code == 200
