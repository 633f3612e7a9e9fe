"""Another server that listens is not mistaken for a Kafka broker."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.broker.cluster_probe import ask


@contextmanager
def server_that_answers(answer: bytes) -> Iterator[int]:
    """A port where one connection gets ``answer`` for its first bytes and is closed."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0\0",
        struct.pack(">i", 8) + bytes(8),
        struct.pack(">iiii", 12, 1, 0, 1_000_000),
        struct.pack(">i", -1),
    ],
    ids=["nothing", "half a size", "a short answer", "a lying count", "a negative size"],
)
def test_another_server_is_not_mistaken_for_a_broker(answer: bytes) -> None:
    with server_that_answers(answer) as port, pytest.raises(OSError):
        ask("127.0.0.1", port, timeout=5)


def test_a_web_server_is_recognized_by_its_first_bytes() -> None:
    with (
        server_that_answers(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port,
        pytest.raises(OSError, match="does not speak Kafka's protocol"),
    ):
        ask("127.0.0.1", port, timeout=5)


@given(body=st.binary(max_size=60))
def test_any_answer_gives_a_view_or_an_oserror(body: bytes) -> None:
    with server_that_answers(struct.pack(">i", len(body)) + body) as port:
        try:
            view = ask("127.0.0.1", port, timeout=180)
        except OSError:
            return
    assert view.broker_ids is not None


def test_a_closed_port_is_an_oserror() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        ask("127.0.0.1", port, timeout=5)
