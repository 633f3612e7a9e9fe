"""The token provider that kafka-python is given."""

# ruff: noqa: S106 - the secrets are made up

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from lastword.errors import ConfigError, ConnectionFailedError
from lastword.kafka.connection.oauth import ClientCredentials
from lastword.testing.fake_clock import FakeClock

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python's own files
    from lastword.kafka.connection.token_provider import TokenProvider


class Endpoint(HTTPServer):
    """Counts its tokens; answers with ``status``."""

    status = 200
    tokens = 0


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        self.server.tokens += 1
        answer = {"access_token": f"token-{self.server.tokens}", "expires_in": 100}
        body = json.dumps(answer if self.server.status == 200 else {"error": "no"}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def provider_of(endpoint: Endpoint, clock: FakeClock) -> TokenProvider:
    url = f"http://127.0.0.1:{endpoint.server_port}/token"
    credentials = ClientCredentials(token_url=url, client_id="me", client_secret="s3cr3t")
    return TokenProvider(credentials, clock=clock)


def test_a_token_is_kept_for_most_of_its_life_and_then_renewed(endpoint: Endpoint) -> None:
    clock = FakeClock()
    provider = provider_of(endpoint, clock)
    assert provider.token() == provider.token() == "token-1"
    clock.advance(seconds=79)
    assert provider.token() == "token-1"
    clock.advance(seconds=1)
    assert provider.token() == "token-2"


def test_no_token_is_an_error_that_does_not_show_the_secret(endpoint: Endpoint) -> None:
    endpoint.status = 401
    with pytest.raises(ConnectionFailedError, match="401") as caught:
        provider_of(endpoint, FakeClock()).token()
    assert "s3cr3t" not in f"{caught.value} {caught.value.hint}"


def test_an_invalid_endpoint_url_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a URL"):
        ClientCredentials(token_url="file:///etc/passwd", client_id="me", client_secret="x")
