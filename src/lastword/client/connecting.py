"""Connects to a table of a running service."""

from __future__ import annotations

from pathlib import Path

from lastword.client.async_table import AsyncTable
from lastword.client.calls.tables import find_table
from lastword.client.forms import Forms
from lastword.client.http.address import address_of
from lastword.client.http.messages import HttpResponse
from lastword.client.http.pool import ConnectionPool
from lastword.client.http.pools import Pools
from lastword.client.remote_table import RemoteTable
from lastword.client.retrying import Patience
from lastword.client.steps import Exchange, run
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.resolve import CodecSpec
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError

DEFAULT_TIMEOUT: Duration = "30s"
DEFAULT_CONNECTIONS = 8


def connect(
    url: str,
    *,
    token: str | None = None,
    key: CodecSpec | None = None,
    value: CodecSpec | None = None,
    ca: str | Path | None = None,
    certificate: tuple[str | Path, str | Path] | None = None,
    timeout: Duration = DEFAULT_TIMEOUT,
    connections: int = DEFAULT_CONNECTIONS,
    clock: Clock = SYSTEM_CLOCK,
) -> RemoteTable:
    """A table of a running service, with the reads and writes of a ``Table`` and no data here.

    ``url`` names the table by its mount or as ``/tables/NAME``; the path may be omitted if the
    service has one table. ``key`` and ``value`` are codecs, by default those that the service
    names. ``ca`` is a file of PEM certificates to trust, and ``certificate`` the files of the
    client's certificate and key. ``timeout`` is how long a call may take, retries included.

    >>> with connect("http://localhost:8090/users", token="...") as users:    # doctest: +SKIP
    ...     users.put("user-1", {"name": "Alice"})
    ...     users["user-1"]
    {'name': 'Alice'}
    """
    patience = _patience(timeout, connections, clock)
    address = address_of(url, token, ca=ca, certificate=certificate)
    pools = Pools(ConnectionPool, address, connections, clock)

    def asked(step: Exchange) -> HttpResponse:
        return pools.base.exchange(step.request, step.deadline)

    try:
        info = run(find_table(address.path, patience), asked, clock.sleep)
        return RemoteTable(pools, Forms(info, key, value), patience)
    except BaseException:
        pools.close()
        raise


def connect_async(
    url: str,
    *,
    token: str | None = None,
    key: CodecSpec | None = None,
    value: CodecSpec | None = None,
    ca: str | Path | None = None,
    certificate: tuple[str | Path, str | Path] | None = None,
    timeout: Duration = DEFAULT_TIMEOUT,
    connections: int = DEFAULT_CONNECTIONS,
    clock: Clock = SYSTEM_CLOCK,
) -> AsyncTable:
    """The same for coroutines; it connects at ``async with``.

    >>> async with connect_async("http://localhost:8090/users") as users:     # doctest: +SKIP
    ...     await users.get("user-1")
    {'name': 'Alice'}
    """
    return AsyncTable(
        address_of(url, token, ca=ca, certificate=certificate),
        codecs=(key, value),
        connections=connections,
        patience=_patience(timeout, connections, clock),
    )


def _patience(timeout: Duration, connections: int, clock: Clock) -> Patience:
    if connections < 1:
        raise ConfigError(f"connections={connections} is too small", hint="use at least 1")
    timeout_ms = milliseconds(timeout, what="the timeout of a client")
    if timeout_ms == 0:
        raise ConfigError("a client needs a timeout above zero", hint="such as timeout='30s'")
    return Patience(timeout_ms / 1000, clock)
