"""Keys and certificates for tests: an authority, a server on the loopback address, a client."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lastword.clock import SYSTEM_CLOCK

_VALID = timedelta(days=7)
_CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files. ``server`` holds certificate and key in one, as Kafka's PEM key store wants.

    So does ``peer``, which both connects and is connected to.
    """

    authority: Path
    server: Path
    client_certificate: Path
    client_key: Path
    peer: Path


def make_certificates(directory: Path) -> Certificates:
    """Write a new authority, and a server and a client signed by it, into ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    authority = _Authority()
    files = Certificates(
        authority=directory / "authority.pem",
        server=directory / "server.pem",
        client_certificate=directory / "client.pem",
        client_key=directory / "client.key",
        peer=directory / "peer.pem",
    )
    files.authority.write_bytes(authority.certificate.public_bytes(Encoding.PEM))
    server_certificate, server_key = authority.sign("localhost", ExtendedKeyUsageOID.SERVER_AUTH)
    files.server.write_bytes(server_key + server_certificate)
    client_certificate, client_key = authority.sign("client", ExtendedKeyUsageOID.CLIENT_AUTH)
    files.client_certificate.write_bytes(client_certificate)
    files.client_key.write_bytes(client_key)
    both = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
    peer_certificate, peer_key = authority.sign("peer", *both)
    files.peer.write_bytes(peer_key + peer_certificate)
    return files


class _Authority:
    """Signs certificates for the time of a test run."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Lastword test authority")
        self.certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def sign(self, name: str, *usages: x509.ObjectIdentifier) -> tuple[bytes, bytes]:
        """A certificate for ``name`` on this machine, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            _builder(_name(name), self._name, key.public_key())
            .add_extension(x509.SubjectAlternativeName(here), critical=False)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return (
            certificate.public_bytes(Encoding.PEM),
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(SYSTEM_CLOCK.now_ms() / 1000, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID)
    )
