"""Where an instance listens for its peers, and the TLS and secret that protect the endpoint."""

from __future__ import annotations

import secrets
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from lastword.errors import ConfigError
from lastword.home import HomeFolder, default_home
from lastword.host_names import is_loopback
from lastword.private_files import create_private, is_private, make_private_directory

SECRET_LENGTH_MIN = 16
SECRET_FILE = "peer-secret"  # noqa: S105  a file name


@dataclass(frozen=True)
class PeerTls:
    """PEM files of this instance.

    ``ca`` is the authority that signed the certificate of the listening side; without it, the
    system's authorities are used. With ``mutual``, it must have signed that of the connecting side
    as well, so each certificate is for server and client. The shared secret is always required.
    """

    certificate: Path
    key: Path
    ca: Path | None = None
    key_password: str | None = field(default=None, repr=False)
    mutual: bool = False

    def __post_init__(self) -> None:
        if self.mutual and self.ca is None:
            raise ConfigError(
                "mutual TLS between peers needs the CA that signed their certificates",
                hint="also give the PEM file of the CA",
            )


@dataclass(frozen=True, kw_only=True)
class PeerSettings:
    """Where the peer endpoint listens, and the secret that the instances share.

    ``port`` 0 picks a free one. ``advertised_host`` is the name under which other machines reach
    this instance, if it is not ``host``. Every instance of an application needs the same secret.
    Without one, it is read from a file in the home directory, which the first instance creates.
    """

    host: str = "127.0.0.1"
    port: int = 0
    advertised_host: str | None = None
    secret: str | None = field(default=None, repr=False)
    tls: PeerTls | None = None

    def __post_init__(self) -> None:
        if self.secret is not None and len(self.secret) < SECRET_LENGTH_MIN:
            raise ConfigError(
                f"the peer secret has {len(self.secret)} characters, fewer than "
                f"{SECRET_LENGTH_MIN}",
                hint="generate one: openssl rand -hex 32",
            )
        if all(map(is_loopback, {self.host, self.name})):
            return
        if self.tls is None:
            raise ConfigError(
                f"{self.host} can be reached from other machines, so peers need TLS",
                hint="give the peer endpoint a certificate and a key, or listen on 127.0.0.1",
            )
        if self.secret is None:
            raise ConfigError(
                f"{self.host} can be reached from other machines, so peers need a secret",
                hint="give every instance the same one; generate it: openssl rand -hex 32",
            )

    @property
    def name(self) -> str:
        """The host name under which others reach this instance."""
        return self.advertised_host or self.host

    def address(self, port: int) -> str:
        """The address under which others reach this instance once it listens on ``port``."""
        return f"[{self.name}]:{port}" if ":" in self.name else f"{self.name}:{port}"

    def key(self) -> bytes:
        """The shared secret; on first use it is created in a file that only this user can read."""
        if self.secret is not None:
            return self.secret.encode()
        path = default_home() / HomeFolder.CLUSTER / SECRET_FILE
        make_private_directory(path.parent)
        create_private(path, secrets.token_hex(32).encode())
        if not is_private(path):
            raise ConfigError(
                f"other users may have read or changed the peer secret in {path}",
                hint="stop all instances and delete the file; the next start creates a new one",
            )
        return path.read_bytes()

    def server_context(self) -> ssl.SSLContext | None:
        """TLS for connections from others, or None."""
        if self.tls is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        _load(context, self.tls)
        if self.tls.mutual:
            context.load_verify_locations(self.tls.ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client_context(self) -> ssl.SSLContext | None:
        """TLS for connections to others, whose certificate must name the host; or None."""
        if self.tls is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=self.tls.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if self.tls.mutual:
            _load(context, self.tls)
        return context


def _load(context: ssl.SSLContext, tls: PeerTls) -> None:
    try:
        context.load_cert_chain(tls.certificate, tls.key, tls.key_password)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"cannot use the certificate {tls.certificate} with the key {tls.key}: {error}",
            hint="both are PEM files, and the key belongs to the certificate",
        ) from error
