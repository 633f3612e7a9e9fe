"""What the registry's client makes of answers that are no good; the server here is a few lines."""

from __future__ import annotations

import ssl
import threading
import uuid
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.registry.client import (
    REST_AFTER_FAILURE_S,
    SCHEMA_BYTES_MAX,
    RegistryClient,
    RegistrySettings,
)
from lastword.codecs.registry.known_schemas import SCHEMAS_MAX, UNKNOWN_FOR_S, KnownSchemas
from lastword.errors import ConfigError, DecodeError, RegistryError
from lastword.jvm.ports import free_ports
from lastword.testing.certificates import Certificates, make_certificates
from lastword.testing.fake_clock import FakeClock


class Canned(HTTPServer):
    """Answers every request with the same."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.status, self.body, self.asked = 200, b"{}", list[tuple[str, str | None]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def require_certificates(self, files: Certificates) -> str:
        """From now on it answers over TLS, to clients with a certificate; returns its URL."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=files.authority)
        context.load_cert_chain(files.server)
        context.verify_mode = ssl.CERT_REQUIRED
        self.socket = context.wrap_socket(self.socket, server_side=True)
        return f"https://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: Canned

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    do_POST = do_GET  # noqa: N815 - the name that http.server asks for

    def log_message(self, format: str, *_args: object) -> None:
        """Nothing: the tests' output is pytest's."""


@pytest.fixture
def server() -> Iterator[Canned]:
    server = Canned()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "said", "retriable"),
    [
        (200, b"<html>", "cannot read", True),
        (200, b'{"schema": 7}', "cannot read", True),
        (500, b'{"message":"out of space"}', "out of space", True),
        (401, b"", "status 401", False),
        (422, b"[]", "status 422", False),
        (200, b"x" * (SCHEMA_BYTES_MAX + 1), "larger than 4 MiB", True),
    ],
)
def test_an_invalid_answer_is_a_registry_error(
    server: Canned, status: int, body: bytes, said: str, retriable: bool
) -> None:
    server.status, server.body = status, body
    with pytest.raises(RegistryError, match=said) as caught:
        RegistryClient(RegistrySettings(url=server.url)).schema(1)
    assert caught.value.retriable is retriable


def test_the_login_is_sent_and_the_path_of_the_url_is_kept(server: Canned) -> None:
    settings = RegistrySettings(url=f"{server.url}/apis/ccompat/v7/", token="secret")  # noqa: S106
    server.body = b'{"schema":"\\"string\\""}'
    assert RegistryClient(settings).schema(7) is not None
    assert server.asked == [("/apis/ccompat/v7/schemas/ids/7", "Bearer secret")]


def test_user_and_password_are_sent(server: Canned) -> None:
    registry = Registry(server.url, username="shop", password="sesame")  # noqa: S106
    server.body = b"[]"
    assert registry.client.subjects() == []
    login = b64encode(b"shop:sesame").decode()
    assert server.asked == [("/subjects", f"Basic {login}")]
    assert "sesame" not in repr(registry.settings)


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path)


def test_a_client_certificate_is_shown_to_a_registry_that_asks_for_one(
    server: Canned, files: Certificates, tmp_path: Path
) -> None:
    url = server.require_certificates(files)
    server.body = b'["a-value"]'
    locked = tmp_path / "locked.key"
    key = load_pem_private_key(files.client_key.read_bytes(), None)
    locked.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame"))
    )
    given = {"ca": str(files.authority), "certificate": str(files.client_certificate)}
    for more in ({"key": str(files.client_key)}, {"key": str(locked), "key_password": "sesame"}):
        registry = Registry(url, **given, **more)
        assert registry.client.subjects() == ["a-value"]
        assert "sesame" not in repr(registry.settings)
    with pytest.raises(RegistryError, match="does not answer"):
        Registry(url, ca=str(files.authority)).client.subjects()
    with pytest.raises(RegistryError, match="CERTIFICATE_VERIFY_FAILED"):
        Registry(url).client.subjects()
    for wrong in ({"key": str(locked)}, {"key": str(tmp_path / "none.pem")}):
        with pytest.raises(RegistryError, match="certificates for the registry cannot be used"):
            Registry(url, **given, **wrong).client.subjects()


def test_a_key_without_its_certificate_is_refused() -> None:
    with pytest.raises(ConfigError, match="without the certificate"):
        Registry("https://127.0.0.1:1", key="client.key")


def test_a_registry_that_is_down_is_asked_again_only_after_a_while(server: Canned) -> None:
    clock = FakeClock()
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    client = RegistryClient(RegistrySettings(url=nowhere), clock)
    with pytest.raises(RegistryError, match="does not answer"):
        client.schema(1)
    client._url = RegistryClient(RegistrySettings(url=server.url))._url
    server.body = b'{"schema":"\\"string\\""}'
    with pytest.raises(RegistryError, match="does not answer"):
        client.schema(1)
    assert not server.asked
    clock.advance(seconds=REST_AFTER_FAILURE_S)
    assert client.schema(1) is not None


def test_an_id_is_asked_for_once_and_an_unknown_one_again_after_a_while(server: Canned) -> None:
    clock = FakeClock()
    known = KnownSchemas(RegistryClient(RegistrySettings(url=server.url), clock), clock)
    server.body = b'{"schema":"\\"string\\""}'
    for _ in range(3):
        assert known.parsed("AVRO", 1, lambda schema, _references: schema.schema) == '"string"'
    assert len(server.asked) == 1
    server.status = 404
    for _ in range(3):
        with pytest.raises(DecodeError, match="no schema 2"):
            known.parsed("AVRO", 2, lambda schema, _references: schema)
    assert len(server.asked) == 2
    clock.advance(seconds=UNKNOWN_FOR_S)
    server.status = 200
    assert known.parsed("AVRO", 2, lambda schema, _references: schema) is not None


def test_the_number_of_schemas_that_are_kept_is_bounded(server: Canned) -> None:
    known = KnownSchemas(RegistryClient(RegistrySettings(url=server.url)))
    server.body = b'{"schema":"\\"string\\""}'
    for schema_id in range(SCHEMAS_MAX + 5):
        known.parsed("AVRO", schema_id, lambda schema, _references: schema)
    assert len(known._parsed) == SCHEMAS_MAX


@pytest.mark.parametrize("url", ["localhost:8081", "ftp://x", "http://", "http://me:pw@host:1"])
def test_an_invalid_url_or_one_with_a_login_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RegistrySettings(url=url)
    assert "pw" not in str(caught.value)


def test_a_guid_in_a_header_names_the_schema_in_every_registry(server: Canned) -> None:
    guid = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    server.body = b'{"schema": "\\"string\\""}'
    codec = Registry(server.url).avro().bound(Context("users", "value"))
    headers = (("__value_schema_id", b"\x00old!"), ("__value_schema_id", b"\x01" + guid.bytes))
    for text in (b"\x02a", b"\x02b"):
        assert codec.decode(codec.joined(text, headers)) == text[1:].decode()
    assert [path for path, _ in server.asked] == [f"/schemas/guids/{guid}"]
    server.status = 404
    with pytest.raises(DecodeError, match="has no schema 00112233-4455"):
        Registry(server.url + "/other").avro().decode(b"\x01" + guid.bytes + b"\x02a")
    with pytest.raises(DecodeError, match="too short"):
        codec.decode(b"\x01" + guid.bytes[:-1])


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        (b'{"id": 7, "guid": "00112233-4455-6677-8899-aabbccddeeff"}', b"\x01\x00\x11\x22"),
        (b'{"id": 7}', b"\x00\x00\x00\x00\x07"),
    ],
    ids=["a registry with GUIDs", "a registry without GUIDs"],
)
def test_a_header_gets_the_guid_if_the_registry_has_one(
    server: Canned, answer: bytes, written: bytes
) -> None:
    server.body = answer
    values = Context("users", "value")
    codec = Registry(server.url, id_in="header").avro('"string"').bound(values)
    assert codec.split is not None
    data = codec.encode("a")
    payload, headers = codec.split(data, (("trace", b"1"),))
    assert (payload, headers[0]) == (b"\x02a", ("trace", b"1"))
    assert headers[1][0] == "__value_schema_id"
    assert (headers[1][1] or b"").startswith(written)
    assert codec.joined(payload, headers) == data
    assert codec.split(payload, headers) == (payload, headers), "once"
    plain = Registry(server.url).avro('"string"').bound(values)
    assert plain.split is None
    assert plain.encode("a") == b"\x00\x00\x00\x00\x07\x02a", "a number in front"
