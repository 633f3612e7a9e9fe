"""What one client may take: bytes, seconds, connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from time import monotonic

import httpx
import pytest

from lastword.service import Limits
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving

LIMITS = Limits(arrival_s=0.5, body_bytes=10_000, path_bytes=500, connections=4)


@pytest.fixture
def serving(serve: Serve) -> Serving:
    return serve(limits=LIMITS)


@pytest.fixture
def client(serving: Serving) -> Iterator[httpx.Client]:
    with serving.client() as opened:
        yield opened


def connect(serving: Serving) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", serving.config.port), 10)
    opened.settimeout(60)
    return opened


def put_head(serving: Serving, length: int) -> bytes:
    return (
        f"PUT /table/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {serving.token}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_that_is_too_large_is_refused(client: httpx.Client) -> None:
    declared = client.put("/table/a", json="x" * 20_000)
    assert (declared.status_code, declared.json()["name"]) == (413, "ContentTooLarge")

    def pieces() -> Iterator[bytes]:
        yield b'"'
        for _ in range(20):
            yield b"x" * 1000
        yield b'"'

    headers = {"Content-Type": "application/json"}
    chunked = client.put("/table/a", content=pieces(), headers=headers)
    assert (chunked.status_code, chunked.json()["name"]) == (413, "ContentTooLarge")
    assert client.get("/table/a").status_code == 404
    assert client.put("/table/a", json="x" * 9_000).status_code == 200


def test_a_body_that_does_not_arrive_times_out(serving: Serving) -> None:
    with connect(serving) as slow:
        slow.sendall(put_head(serving, 100) + b'"x')
        started = monotonic()
        answer = slow.recv(10_000)
    assert answer.startswith(b"HTTP/1.1 408")
    assert monotonic() - started > 0.4


def test_a_body_that_arrives_too_slowly_times_out(serving: Serving) -> None:
    with connect(serving) as slow:
        slow.sendall(put_head(serving, 1_000))
        slow.settimeout(0.1)
        answer = b""
        for _ in range(600):
            try:
                slow.sendall(b"x")
                answer = slow.recv(10_000)
                break
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408")


def test_headers_that_drip_close_the_connection(serving: Serving) -> None:
    with connect(serving) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        slow.settimeout(0.1)

        def closed() -> bool:
            try:
                slow.sendall(b"X-Drip: 1\r\n")
                return slow.recv(1000) == b""
            except TimeoutError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                return True

        wait_until(closed, "the connection to be closed", timeout=180)


@pytest.mark.parametrize("request_first", [False, True], ids=["new", "kept alive"])
def test_a_connection_without_a_request_is_closed(serving: Serving, request_first: bool) -> None:
    with connect(serving) as idle:
        if request_first:
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle.recv(10_000).startswith(b"HTTP/1.1 200")
        started = monotonic()
        assert idle.recv(1000) == b""
        assert monotonic() - started > 0.3


def test_connections_beyond_the_limit_wait_for_their_turn(serving: Serving) -> None:
    idle = [connect(serving) for _ in range(LIMITS.connections)]
    try:
        with connect(serving) as late:
            late.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            started = monotonic()
            # The idle ones are closed after `arrival_s`; only then is this one accepted.
            assert late.recv(10_000).startswith(b"HTTP/1.1 200")
            assert monotonic() - started > 0.2
    finally:
        for connection in idle:
            connection.close()


def test_a_path_that_is_too_long_is_refused(client: httpx.Client) -> None:
    assert client.get("/table/" + "k" * 400).status_code == 404
    answer = client.get("/table/" + "k" * 600)
    assert (answer.status_code, answer.json()["name"]) == (414, "UriTooLong")


def test_headers_that_are_too_large_or_too_many_are_refused(client: httpx.Client) -> None:
    large = client.get("/health", headers={"X-Large": "x" * 20_000})
    assert large.status_code == 431
    many = client.get("/health", headers={f"X-{number}": "1" for number in range(200)})
    assert many.status_code == 431


@pytest.mark.parametrize(
    "junk",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET / X\r\n\r\n",
    ],
)
def test_invalid_http_is_refused_and_harms_no_other_client(
    serving: Serving, client: httpx.Client, junk: bytes
) -> None:
    with connect(serving) as strange:
        strange.sendall(junk)
        answer = strange.recv(1000)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert client.get("/health").status_code == 200


def test_no_kafka_property_is_taken_from_a_request(client: httpx.Client) -> None:
    for query in ("bootstrap.servers=evil:9092", "acks=0", "topic=other", "config=x"):
        assert client.get(f"/table/a?{query}").status_code == 400
        assert client.put(f"/table/a?{query}", json=1).status_code == 400


def test_calls_beyond_threads_and_queue_are_refused_as_retriable(serve: Serve) -> None:
    serving = serve(limits=Limits(waiting_calls=1))
    pool = serving.service._context.reads  # type: ignore[union-attr]
    pool.calls = 1_000  # more than what a call of the start takes off again when it ends
    try:
        with serving.client() as client:
            answer = client.get("/table/count")
            assert (answer.status_code, answer.json()["name"]) == (503, "Busy")
            assert answer.headers["retry-after"] == "1"
            assert client.get("/table/absent").status_code == 404  # reads of a key need no thread
    finally:
        pool.calls = 0
