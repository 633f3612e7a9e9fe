"""Requests that a foreign page makes a browser send, and those that come under a wrong name."""

from __future__ import annotations

import socket

import httpx
import pytest

from tests.service.conftest import Serve
from tests.support.served.service_process import ServiceProcess


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:9999"])
def test_the_loopback_address_has_several_names(server: ServiceProcess, host: str) -> None:
    with server.client() as client:
        assert client.get("/tables", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8090",
        "10.0.0.1",
        "localhost@evil.example",
    ],
)
@pytest.mark.parametrize("path", ["/users/a", "/tables", "/health", "/nowhere"])
def test_a_name_that_an_attacker_points_here_is_refused(
    server: ServiceProcess, host: str, path: str
) -> None:
    with server.client() as client:
        answer = client.get(path, headers={"Host": host})
    assert answer.status_code in {400, 421}
    assert answer.json()["name"] in {"MisdirectedRequest", "BadHost"}
    assert "evil" not in answer.text


def test_a_request_without_a_host_is_refused(server: ServiceProcess) -> None:
    with server.client() as client:
        assert client.get("/tables", headers={"Host": ""}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "https://localhost", "x"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_a_foreign_page_may_neither_read_nor_write(
    http: httpx.Client, method: str, origin: str
) -> None:
    headers = {"Origin": origin, "Access-Control-Request-Method": "PUT"}
    answer = http.request(method, "/users/guarded", json=1, headers=headers)
    assert (answer.status_code, answer.json()["name"]) == (403, "ForeignOrigin")
    assert "access-control-allow-origin" not in answer.headers
    assert http.get("/users/guarded").status_code == 404


def test_the_service_s_own_page_may(server: ServiceProcess, http: httpx.Client) -> None:
    answer = http.put("/users/own-page", json=1, headers={"Origin": server.url})
    assert answer.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_cross_site_request_of_a_browser_is_refused(server: ServiceProcess, site: str) -> None:
    with server.client() as client:
        image = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert client.get("/users/a", headers=image).status_code == 403
        link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert client.get("/tables", headers=link).status_code == 200
        own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        assert client.get("/tables", headers=own).status_code == 200


def test_an_allowed_page_may_read_and_write(serve: Serve) -> None:
    serving = serve(allowed_origins=("https://admin.example",))
    with serving.client() as client:
        preflight = client.options(
            "/table/a",
            headers={"Origin": "https://admin.example", "Access-Control-Request-Method": "PUT"},
        )
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "https://admin.example"
        for request in (client.build_request("PUT", "/table/a", json=1),):
            request.headers["Origin"] = "https://admin.example"
            answer = client.send(request)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == "https://admin.example"
            assert "etag" in answer.headers["access-control-expose-headers"]
        read = client.get("/table/a", headers={"Origin": "https://admin.example"})
        assert "origin" in read.headers["vary"]
        foreign = client.get("/table/a", headers={"Origin": "https://other.example"})
        assert foreign.status_code == 403


def test_a_further_name_can_be_allowed(serve: Serve) -> None:
    serving = serve(allowed_hosts=("tables.example",))
    with serving.client() as client:
        assert client.get("/health", headers={"Host": "tables.example:443"}).status_code == 200
        assert client.get("/health", headers={"Host": "other.example"}).status_code == 421


@pytest.mark.parametrize("name", ["Host", "Authorization", "Origin", "Content-Type"])
def test_a_header_that_came_twice_is_refused(server: ServiceProcess, name: str) -> None:
    lines = ["GET /tables HTTP/1.1", "Host: localhost", f"{name}: localhost", f"{name}: localhost"]
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(10_000).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/users/missing", "/tables", "/nowhere", "/metrics", "/health"])
def test_every_answer_has_the_security_headers(server: ServiceProcess, path: str) -> None:
    with server.client() as client:
        headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
