"""Refuses requests that reach the service under a wrong name or from a foreign page.

A page of any site can make its visitor's browser send requests to this machine. Two things give
it away: the Host it used (a name of its own that it points here: DNS rebinding), and the Origin or
Sec-Fetch-Site that browsers add to what pages send.
"""

from __future__ import annotations

from collections.abc import Mapping

from lastword.host_names import LOOPBACK_NAMES, host_name
from lastword.service.http.problems import RefusedError
from lastword.service.http.service_config import ServiceConfig

_GOOD_HOSTS_MAX = 1000
# Two of these in one request: a proxy may have checked the other one.
_ONCE = (
    b"host",
    b"authorization",
    b"origin",
    b"content-length",
    b"content-type",
    b"content-encoding",
    b"transfer-encoding",
)


class OriginCheck:
    """Checks the headers of each request before anything else reads them."""

    def __init__(self, config: ServiceConfig) -> None:
        names = {name.lower() for name in config.allowed_hosts}
        names.add(f"[{config.host}]" if ":" in config.host else config.host.lower())
        if config.loopback:
            names |= LOOPBACK_NAMES
        self._names = frozenset(names)
        self._scheme = "https" if config.tls else "http"
        self._origins = frozenset(origin.lower() for origin in config.allowed_origins)
        # Nearly every request brings the same few Host headers: checked once each.
        self._good_hosts: set[bytes] = set()

    def check(
        self, method: str, headers: Mapping[bytes, bytes], given: list[tuple[bytes, bytes]]
    ) -> None:
        """Raise a RefusedError, or let it pass. ``headers`` is ``given`` as a mapping."""
        host = headers.get(b"host")
        if host not in self._good_hosts:
            self._check_host(host)
        if len(headers) != len(given):
            _refuse_doubles(given)
        origin = headers.get(b"origin")
        if origin is not None:
            self._check_origin(origin.decode("latin-1").lower(), host or b"")
        elif b"sec-fetch-site" in headers:
            _check_fetch(method, headers)

    def _check_host(self, host: bytes | None) -> None:
        name = host_name(host.decode("latin-1")) if host else None
        if name is None:
            raise RefusedError(
                400, "BadHost", "the request has no Host header", hint="send a valid Host header"
            )
        if name not in self._names:
            raise RefusedError(
                421,
                "MisdirectedRequest",
                "this service is not reached under that host name",
                hint="use the address it was started with, or add the name to allowed_hosts",
            )
        if host is not None and len(self._good_hosts) < _GOOD_HOSTS_MAX:
            self._good_hosts.add(host)

    def _check_origin(self, origin: str, host: bytes) -> None:
        if not self._same(origin, host) and origin not in self._origins:
            raise RefusedError(
                403,
                "ForeignOrigin",
                "pages of that origin may not use this service",
                hint="add the origin to allowed_origins if it is yours",
            )

    def _same(self, origin: str, host: bytes) -> bool:
        return origin == f"{self._scheme}://{host.decode('latin-1').lower()}"


def _check_fetch(method: str, headers: Mapping[bytes, bytes]) -> None:
    """A browser's own header about the origin of a request; following a link here is allowed."""
    site = headers[b"sec-fetch-site"]
    follows_link = method == "GET" and headers.get(b"sec-fetch-mode") == b"navigate"
    if site not in (b"same-origin", b"none") and not follows_link:
        raise RefusedError(
            403,
            "ForeignOrigin",
            "pages of other sites may not use this service",
            hint="open the service itself in the browser, or add the page to allowed_origins",
        )


def _refuse_doubles(given: list[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in given]
    for name in _ONCE:
        if names.count(name) > 1:
            raise RefusedError(
                400, "RepeatedHeader", f"the header {name.decode()} came more than once"
            )
