"""The address of a service and the credentials: the one place that holds the token."""

from __future__ import annotations

import logging
import re
import ssl
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from lastword.errors import ConfigError
from lastword.host_names import is_loopback

log = logging.getLogger(__name__)

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")


@dataclass(frozen=True)
class Address:
    """Host, port, TLS and the headers of every request. Its ``repr`` does not show the token.

    ``common_headers`` are those that do not depend on the host.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    path: str
    common_headers: bytes = field(repr=False)

    @cached_property
    def origin(self) -> str:
        """The address without the path, for messages."""
        return f"{self._scheme}://{self._shown_host}:{self.port}"

    @cached_property
    def fixed_headers(self) -> bytes:
        """The headers of every request."""
        port = "" if self.port == _PORTS[self._scheme] else f":{self.port}"
        return f"host: {self._shown_host}{port}\r\n".encode("ascii") + self.common_headers

    def sibling(self, url: str) -> Address | None:
        """The address of another instance that this one has named; None if it is not as safe.

        From TLS it is TLS, checked in the same way. Without TLS, both are this machine. A loopback
        address of another machine means nothing here.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return None
        is_plain = url == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
        if not is_plain or parts.scheme != self._scheme or not _HOST.fullmatch(host):
            return None
        if is_loopback(host) != is_loopback(self.host) or (
            self.tls is None and not is_loopback(host)
        ):
            return None
        return replace(self, host=host, port=port or _PORTS[parts.scheme], path="")

    @property
    def _scheme(self) -> str:
        return "http" if self.tls is None else "https"

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


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
    headers = "accept: application/json\r\n"
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
