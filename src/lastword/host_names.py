"""Names of hosts: the ``Host`` of a request, and which addresses only this machine reaches."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))


def host_name(header: str) -> str | None:
    """The host without its port, in lower case; None if it is not a host.

    >>> host_name("LOCALHOST:8090"), host_name("[::1]:80"), host_name("a@b")
    ('localhost', '[::1]', None)
    """
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    if parts.hostname is None or parts.path or parts.query or parts.fragment or "@" in header:
        return None
    return f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname.lower()


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name may lead anywhere
