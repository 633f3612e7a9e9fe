"""A body with ``Content-Encoding: gzip`` was stored as it came, compressed."""

from __future__ import annotations

import gzip
import socket

import pytest

from tests.service.conftest import Serve

TYPE = {"Content-Type": "application/octet-stream"}


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "deflate", "identity, gzip", "x-none"])
def test_a_compressed_body_is_not_stored(serve: Serve, coding: str) -> None:
    serving = serve(table_options={"value": "bytes"})
    headers = TYPE | {"Content-Encoding": coding}
    body = gzip.compress(b"value")
    with serving.client() as client:
        answer = client.put("/table/key", content=body, headers=headers)
        assert (answer.status_code, answer.json()["name"]) == (415, "UnsupportedContentEncoding")
        assert answer.headers["accept-encoding"] == "identity"
        batch = client.post(
            "/table", content=body, headers={**headers, "Content-Type": "application/json"}
        )
        assert batch.status_code == 415
        assert client.get("/table/key").status_code == 404
        plain = TYPE | {"Content-Encoding": "identity"}
        assert client.put("/table/key", content=b"value", headers=plain).status_code == 200
    assert serving.table["key"] == b"value"


def test_a_transfer_coding_or_two_headers_do_not_get_around_it(serve: Serve) -> None:
    serving = serve(table_options={"value": "bytes"})
    start = (
        f"PUT /table/key HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {serving.token}\r\n"
        "Content-Type: application/octet-stream\r\nTransfer-Encoding: "
    )
    twice = "chunked\r\nContent-Encoding: gzip\r\nContent-Encoding: identity"
    for coding in ("gzip, chunked", twice):
        with socket.create_connection(("127.0.0.1", serving.config.port), 10) as client:
            client.sendall(f"{start}{coding}\r\n\r\n5\r\nvalue\r\n0\r\n\r\n".encode())
            assert client.recv(100).split()[1] in {b"400", b"415"}, coding
    assert "key" not in serving.table
