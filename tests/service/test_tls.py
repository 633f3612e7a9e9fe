"""Listening elsewhere than on the loopback address: only with TLS and a token."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import httpx
import pytest

from lastword.errors import ConfigError, ServiceError
from lastword.host_names import is_loopback
from lastword.jvm.ports import free_ports
from lastword.service import Service, ServiceConfig, TlsFiles
from lastword.testing.certificates import make_certificates
from tests.service.conftest import Serve

EVERYWHERE = "0.0.0.0"  # noqa: S104 - which is refused


@pytest.fixture
def tls(tmp_path: Path) -> tuple[TlsFiles, Path]:
    """The service's files, and the authority that a client must know."""
    files = make_certificates(tmp_path / "certificates")
    return TlsFiles(files.server, files.server), files.authority


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "192.0.2.1", "example.com"])
def test_another_address_is_refused_without_tls_or_without_a_token(
    host: str, tls: tuple[TlsFiles, Path], tmp_path: Path
) -> None:
    tokens_file = tmp_path / "tokens.json"
    with pytest.raises(ConfigError, match="needs TLS"):
        ServiceConfig(tokens_file=tokens_file, host=host).check(has_token=True)
    with pytest.raises(ConfigError, match="needs a token"):
        ServiceConfig(tokens_file=tokens_file, host=host, tls=tls[0]).check(has_token=False)
    config = ServiceConfig(tokens_file=tokens_file, host=host, tls=tls[0])
    config.check(has_token=True)
    assert config.reads_need_token


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("10.0.0.1", False),
    ],
)
def test_which_addresses_are_of_this_machine_only(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_service_with_tls_is_reached_over_tls_only(
    serve: Serve, tls: tuple[TlsFiles, Path]
) -> None:
    files, authority = tls
    serving = serve(tls=files)
    assert serving.url.startswith("https://")
    trusting = ssl.create_default_context(cafile=authority)
    with serving.client(verify=trusting) as client:
        assert client.put("/table/a", json=1).status_code == 200
        assert client.get("/table/a", headers={"Origin": serving.url}).json() == 1
        assert client.get("/table/a", headers={"Origin": "http://127.0.0.1"}).status_code == 403
    with serving.client() as client, pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
        client.get("/table/a")
    plain = serving.url.replace("https", "http")
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{plain}/health", timeout=60, trust_env=False)


def test_old_versions_of_tls_are_refused(serve: Serve, tls: tuple[TlsFiles, Path]) -> None:
    files, authority = tls
    serving = serve(tls=files)
    old = ssl.create_default_context(cafile=authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with serving.client(verify=old) as client, pytest.raises(httpx.ConnectError):
        client.get("/health")


def test_a_connection_that_never_begins_tls_does_not_hold_up_others(
    serve: Serve, tls: tuple[TlsFiles, Path]
) -> None:
    files, authority = tls
    serving = serve(tls=files)
    silent = [socket.create_connection(("127.0.0.1", serving.config.port)) for _ in range(20)]
    try:
        with serving.client(verify=ssl.create_default_context(cafile=authority)) as client:
            assert client.get("/health").status_code == 200
    finally:
        for connection in silent:
            connection.close()


def test_a_port_that_is_taken_is_named(serve: Serve) -> None:
    taken = serve().config
    with pytest.raises(ServiceError, match=str(taken.port)):
        Service(taken, []).start()


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    config = ServiceConfig(
        tokens_file=tmp_path / "tokens.json",
        port=free_ports(1)[0],
        token="top-secret-of-the-service",  # noqa: S106
        tls=TlsFiles(tmp_path / "a", tmp_path / "b", "top-secret"),
    )
    assert "top-secret" not in repr(config)
