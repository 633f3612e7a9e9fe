"""Where peers may listen, and where their secret comes from."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from lastword.cluster.peers import PeerSettings, PeerTls, frames
from lastword.errors import ConfigError, PeerUnreachableError
from lastword.testing import wait_until
from lastword.testing.certificates import Certificates, make_certificates
from tests.support.shared_tables.peer_pair import SECRET, PeerPair

WAIT_S = 180.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LASTWORD_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def pair() -> Iterator[PeerPair]:
    with PeerPair() as started:
        yield started


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path)


@pytest.mark.parametrize("host", ["::", "10.1.2.3", "shop.example"])
def test_other_addresses_than_loopback_need_tls(host: str) -> None:
    with pytest.raises(ConfigError, match="so peers need TLS"):
        PeerSettings(host=host, secret=SECRET)


def test_a_name_for_other_machines_needs_tls_too() -> None:
    with pytest.raises(ConfigError, match="so peers need TLS"):
        PeerSettings(advertised_host="shop.example", secret=SECRET)


def test_other_addresses_need_a_secret_from_the_settings(files: Certificates) -> None:
    with pytest.raises(ConfigError, match="so peers need a secret"):
        PeerSettings(host="10.1.2.3", tls=PeerTls(files.server, files.server))


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ConfigError, match="fewer than 16"):
        PeerSettings(secret=SECRET[:15])


def test_the_secret_is_not_shown() -> None:
    assert SECRET not in repr(PeerSettings(secret=SECRET))


def test_instances_on_one_machine_find_their_secret_in_a_private_file(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: PeerSettings().key(), range(8)))
    (file,) = (home / "cluster").iterdir()
    assert keys == {file.read_bytes()}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_bytes()) == 64


def test_a_secret_that_other_users_can_read_is_refused(home: Path) -> None:
    PeerSettings().key()
    (file,) = (home / "cluster").iterdir()
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="other users may have read"):
        PeerSettings().key()


def test_a_port_that_is_taken_is_reported(pair: PeerPair) -> None:
    port = int(pair.start("a").address.rpartition(":")[2])
    with pytest.raises(ConfigError, match="cannot listen"):
        pair.start("b", PeerSettings(secret=SECRET, port=port))


def test_peers_talk_over_mutual_tls(pair: PeerPair, files: Certificates) -> None:
    tls = PeerTls(files.peer, files.peer, files.authority, mutual=True)
    a, _ = pair.connected(PeerSettings(secret=SECRET, tls=tls))
    assert a.ask("b", "echo", b"private", WAIT_S) == b"private"


def test_with_mutual_tls_a_caller_needs_a_certificate(pair: PeerPair, files: Certificates) -> None:
    one_sided = PeerTls(files.peer, files.peer, files.authority)
    a = pair.start("a", PeerSettings(secret=SECRET, tls=one_sided))
    b = pair.start("b", PeerSettings(secret=SECRET, tls=replace(one_sided, mutual=True)))
    c = pair.start("c", PeerSettings(secret=SECRET, tls=one_sided))
    c.handle("echo", lambda payload: payload)
    a.set_members({"b": b.address, "c": c.address}, frozenset())
    assert a.ask("c", "echo", b"private", WAIT_S) == b"private"
    with pytest.raises(PeerUnreachableError):
        a.ask("b", "echo", b"", WAIT_S)


def test_mutual_tls_needs_an_authority(files: Certificates) -> None:
    with pytest.raises(ConfigError, match="needs the CA"):
        PeerTls(files.peer, files.peer, mutual=True)


def test_a_peer_that_requires_tls_refuses_plain_connections(
    pair: PeerPair, files: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "HANDSHAKE_S", 0.1)
    a = pair.start("a")
    tls = PeerTls(files.server, files.server, files.authority)
    b = pair.start("b", PeerSettings(secret=SECRET, tls=tls))
    a.set_members({"b": b.address}, frozenset())
    with pytest.raises(PeerUnreachableError):
        a.ask("b", "echo", b"", WAIT_S)


def test_a_certificate_of_another_authority_is_not_trusted(
    pair: PeerPair, files: Certificates, tmp_path: Path
) -> None:
    other = make_certificates(tmp_path / "other")
    a = pair.start(
        "a", PeerSettings(secret=SECRET, tls=PeerTls(other.server, other.server, other.authority))
    )
    b = pair.start(
        "b", PeerSettings(secret=SECRET, tls=PeerTls(files.server, files.server, files.authority))
    )
    a.set_members({"b": b.address}, frozenset("b"))
    with pytest.raises(PeerUnreachableError, match="certificate"):
        a.ask("b", "echo", b"", WAIT_S)
    wait_until(lambda: pair.health["a"].get("b"), "a look at b")
    assert not pair.health["a"]["b"].refused


def test_a_certificate_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot use the certificate"):
        PeerSettings(tls=PeerTls(tmp_path / "none", tmp_path / "none")).server_context()
