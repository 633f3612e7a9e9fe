"""The login of a broker that accepts only the user who started it.

It is in ``client.properties`` in the broker's directory, which only that user can read, in the
form that Kafka's own tools and ``Connection.from_properties`` take.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import NamedTuple

from lastword.errors import BrokerError, ConfigError
from lastword.kafka.connection.jaas import PLAIN_MODULE, parse_login, render_login
from lastword.kafka.connection.java_properties import parse_java_properties
from lastword.private_files import make_private_directory, write_private

PROTOCOL = "SASL_PLAINTEXT"  # only root can listen on the loopback interface
MECHANISM = "PLAIN"  # SCRAM would put the password into the arguments of Kafka's formatting tool
_USERNAME = "lastword"
_FILE = "client.properties"
_JAAS = "sasl.jaas.config"


class BrokerLogin(NamedTuple):
    """The only user of the broker."""

    username: str
    password: str

    def for_broker(self) -> str:
        """The login line of a listener: its users, and the login of brokers among themselves."""
        known = {f"user_{self.username}": self.password}
        return render_login(PLAIN_MODULE, {**self._asdict(), **known})


def client_properties(directory: Path) -> Path:
    """The file with the login for clients of the broker in ``directory``."""
    return directory / _FILE


def read_login(directory: Path) -> BrokerLogin | None:
    """The login of the broker in ``directory``; None when it never had one."""
    try:
        text = client_properties(directory).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        options = parse_login(parse_java_properties(text)[_JAAS]).options
        return BrokerLogin(options["username"], options["password"])
    except (KeyError, ConfigError) as error:
        raise BrokerError(
            f"{client_properties(directory)} holds no login",
            hint="delete it and start the broker again with --secure",
        ) from error


def make_login(directory: Path) -> BrokerLogin:
    """A login for the broker in ``directory``: the one it had, or a new one."""
    return read_login(directory) or BrokerLogin(_USERNAME, secrets.token_urlsafe(32))


def write_login(directory: Path, login: BrokerLogin, bootstrap_servers: str) -> None:
    """Write the login for the clients of a broker that is about to be started in ``directory``."""
    lines = {
        "bootstrap.servers": bootstrap_servers,
        "security.protocol": PROTOCOL,
        "sasl.mechanism": MECHANISM,
        _JAAS: render_login(PLAIN_MODULE, login._asdict()),
    }
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    make_private_directory(directory)
    write_private(client_properties(directory), text.encode())
