"""The address of a service and the credentials: the one place that holds the token."""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from lastword.errors import ConfigError
from lastword.host_names import is_loopback

log = logging.getLogger(__name__)

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """Host, port, TLS and the headers of every request. Its ``repr`` does not show the token."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    path: str
    fixed_headers: bytes = field(repr=False)

    @property
    def origin(self) -> str:
        """The address without the path, for messages."""
        scheme = "http" if self.tls is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


def address_of(
    url: str,
    token: str | None,
    *,
    ca: str | Path | None = None,
    certificate: tuple[str | Path, str | Path] | None = None,
) -> Address:
    """Read a URL and load the certificates; raises ConfigError without repeating a secret."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(
            "the address of a service is http://HOST:PORT/TABLE or https://HOST:PORT/TABLE",
            hint="name a table by its mount, or as /tables/NAME",
        )
    if parts.username is not None or parts.password is not None:
        raise ConfigError("a user name in the address is not supported", hint="pass token=")
    try:
        port = parts.port or _PORTS[parts.scheme]
    except ValueError as error:
        raise ConfigError("the port of the address is not a number below 65536") from error
    tls = _tls(parts.scheme, ca, certificate)
    _check_token(token, parts.hostname, is_plain=tls is None)
    shown = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = shown if port == _PORTS[parts.scheme] else f"{shown}:{port}"
    headers = f"host: {host}\r\naccept: application/json\r\n"
    if token is not None:
        headers += f"authorization: Bearer {token}\r\n"
    path = parts.path.rstrip("/")
    return Address(parts.hostname, port, tls, path, headers.encode("ascii"))


def _check_token(token: str | None, host: str, *, is_plain: bool) -> None:
    if token is None:
        return
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            "the token has invalid characters",
            hint="pass it as `lastword token create` printed it, without a line break",
        )
    if is_plain and not is_loopback(host):
        log.warning("the token is sent to %s without TLS: anybody on the network can read it", host)


def _tls(
    scheme: str, ca: str | Path | None, certificate: tuple[str | Path, str | Path] | None
) -> ssl.SSLContext | None:
    if scheme == "http":
        if ca is not None or certificate is not None:
            raise ConfigError("certificates are for https://", hint="change the address")
        return None
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        if certificate is not None:
            context.load_cert_chain(*map(str, certificate))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"the certificates cannot be loaded: {error}",
            hint="ca= is a file of PEM certificates; certificate= names two files, "
            "the certificate and its key",
        ) from error
    return context
