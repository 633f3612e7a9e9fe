"""Tells the instances of a cluster where this one serves its tables, while it does.

Clients that know the plan send a request straight to the owner of a key. They learn the address
from the service that they trust, so it has to be one that others can use safely.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from lastword.cluster.cluster import Cluster
from lastword.service.http.service_config import ServiceConfig
from lastword.table.table import Table


class Announcement:
    """The address of this service in the plans of the clusters that its tables have joined.

    A service that listens on every address is reached under the host name that its instance has
    for its peers. ``hosts`` has those names.
    """

    def __init__(self, config: ServiceConfig, tables: Iterable[Table]) -> None:
        joined = {id(each): each for table in tables if (each := table.cluster) is not None}
        self._urls: list[tuple[Cluster, str]] = []
        hosts: list[str] = []
        for cluster in joined.values():
            host = cluster.host if _is_wildcard(config.host) else config.host
            if not _is_wildcard(host):
                self._urls.append((cluster, config.url_at(host)))
                hosts.append(host)
        self.hosts = tuple(hosts)

    def begin(self) -> None:
        """Announce it: the service answers from now on."""
        for cluster, url in self._urls:
            cluster.announce_service(url)

    def end(self) -> None:
        """Withdraw it; idempotent."""
        for cluster, _ in self._urls:
            cluster.announce_service("")


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
