"""From settings to a ``Connection``: the cluster that was named, else the local broker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lastword.broker.info import BrokerInfo, find_running
from lastword.cli.settings.settings_file import Settings
from lastword.errors import ConfigError, ConnectionFailedError
from lastword.kafka.connection import Connection
from lastword.kafka.connection.oauth import ClientCredentials

_OAUTH = ("token_url", "client_id", "client_secret", "scope")


def connection_from(settings: Settings, home: Path) -> Connection:
    """Raises ConnectionFailedError when nothing is named and no local broker runs."""
    given = settings.section("connection")
    bootstrap_servers = given.pop("bootstrap_servers")
    command_config = given.pop("command_config")
    properties = settings.free.get("connection.properties", {})
    if command_config is not None:
        connection = Connection.from_properties(
            Path(str(command_config)),
            bootstrap_servers=str(bootstrap_servers) if bootstrap_servers else None,
        )
        return replace(connection, properties={**connection.properties, **properties})
    fields: dict[str, Any] = {
        name: value
        for name, value in given.items()
        if value is not None and not name.startswith("oauth_")
    }
    if not bootstrap_servers:
        local = _local_broker(home)
        if local.client_properties is not None:
            connection = Connection.from_properties(local.client_properties)
            return replace(connection, properties=properties)
        bootstrap_servers = local.bootstrap_servers
    return Connection(
        bootstrap_servers=str(bootstrap_servers),
        oauth=_client_credentials({name: given[f"oauth_{name}"] for name in _OAUTH}),
        properties=properties,
        **fields,
    )


def _local_broker(home: Path) -> BrokerInfo:
    running = find_running(home)
    if running is None:
        raise ConnectionFailedError(
            "no cluster was named and no local broker is running",
            hint="run `lastword up` or `lastword broker start`, or pass --bootstrap-servers",
        )
    return running


def _client_credentials(given: dict[str, Any]) -> ClientCredentials | None:
    present = {name: str(value) for name, value in given.items() if value is not None}
    if not present:
        return None
    if missing := {"token_url", "client_id", "client_secret"} - present.keys():
        raise ConfigError(
            "OAUTHBEARER needs a token URL, a client id and a client secret",
            hint="set also " + ", ".join(f"oauth_{name}" for name in sorted(missing)),
        )
    return ClientCredentials(**present)
