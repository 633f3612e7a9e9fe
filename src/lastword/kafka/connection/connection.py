"""How to reach a cluster: one value, rendered for every client that needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from lastword.errors import ConfigError
from lastword.kafka.connection.allowed_properties import check_properties
from lastword.kafka.connection.client_properties import (
    SHARED_PROPERTIES,
    fields_from_client_properties,
)
from lastword.kafka.connection.jaas import MODULE_OF_MECHANISM, render_login
from lastword.kafka.connection.java_properties import parse_java_properties
from lastword.kafka.connection.librdkafka_log import librdkafka_logger
from lastword.kafka.connection.oauth import ClientCredentials
from lastword.kafka.connection.pem import certificates, pkcs8_key, readable

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

RECONNECT_BACKOFF_MS = 20
"""Each client also waits half of this at its start, between asking a bootstrap server for the
brokers and connecting to one of them: 50 ms with librdkafka's default."""
RECONNECT_BACKOFF_MS_MAX = 2_000
"""librdkafka would wait up to 10 s, which is how late a table would see a broker's return."""
SOCKET_TIMEOUT_MS = 10_000
"""How long a broker may leave a request unanswered before its connection is closed. Kafka names
other leaders 9 s after a broker fell silent (``broker.session.timeout.ms``), so the next try finds
them. librdkafka's default of 60 s is longer than a write may take (30 s): a write would time out
before it was sent to the next leader, and reads would stop for a minute."""
CONNECT_TIMEOUT_MS = 10_000
"""The same for a connection that is not made, TLS and login included; librdkafka's default is
30 s."""

_ADDRESS = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^\s:,\[\]/]+):(\d{1,5})")
_OAUTH_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, repr=False)
class Connection:
    """The address of a cluster and the credentials for it. Never shows a secret.

    ``properties`` are further settings for librdkafka, such as ``client.id``, of those that tune it
    and neither load code nor read files; the few that Java knows by the same name reach Spark as
    well. TLS files are PEM.

    >>> Connection(bootstrap_servers="localhost:9092")
    Connection(bootstrap_servers='localhost:9092', security_protocol='PLAINTEXT')
    """

    bootstrap_servers: str
    security_protocol: SecurityProtocol = "PLAINTEXT"
    ssl_ca: Path | None = None
    ssl_certificate: Path | None = None
    ssl_key: Path | None = None
    ssl_key_password: str | None = None
    ssl_verify_hostname: bool = True
    sasl_mechanism: SaslMechanism | None = None
    sasl_username: str | None = None
    sasl_password: str | None = None
    oauth: ClientCredentials | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "properties", dict(self.properties))
        _check_addresses(self.bootstrap_servers)
        _check_tls(self)
        _check_sasl(self)
        check_properties(self.properties)

    def __repr__(self) -> str:
        shown = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value in (None, True) or each.name == "properties":
                continue
            shown.append(f"{each.name}={'***' if each.name.endswith('password') else value!r}")
        if self.properties:
            shown.append(f"properties=<{', '.join(sorted(self.properties))}>")
        return f"Connection({', '.join(shown)})"

    @classmethod
    def from_properties(
        cls, path: str | Path, *, bootstrap_servers: str | None = None
    ) -> Connection:
        """Read a Java ``client.properties``, the file Kafka's tools take as --command-config.

        ``bootstrap_servers`` wins over the one in the file.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"cannot read {path}: {error}", hint="give the path of a client.properties file"
            ) from error
        given = fields_from_client_properties(parse_java_properties(text), source=str(path))
        if bootstrap_servers is not None:
            given["bootstrap_servers"] = bootstrap_servers
        if "bootstrap_servers" not in given:
            raise ConfigError(
                f"{path} does not say where the cluster is",
                hint="add bootstrap.servers=HOST:PORT to it, or pass --bootstrap-servers",
            )
        return cls(**given)

    @property
    def encrypted(self) -> bool:
        """Whether TLS is used."""
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def authenticated(self) -> bool:
        """Whether SASL is used."""
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def librdkafka(self) -> dict[str, Any]:
        """The settings of every confluent_kafka client, its logger included."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
            "reconnect.backoff.ms": RECONNECT_BACKOFF_MS,
            "reconnect.backoff.max.ms": RECONNECT_BACKOFF_MS_MAX,
            "socket.timeout.ms": SOCKET_TIMEOUT_MS,
            "socket.connection.setup.timeout.ms": CONNECT_TIMEOUT_MS,
            "logger": librdkafka_logger(),
            "ssl.ca.location": readable(self.ssl_ca),
            "ssl.certificate.location": readable(self.ssl_certificate),
            "ssl.key.location": readable(self.ssl_key),
            "ssl.key.password": self.ssl_key_password,
            "sasl.mechanism": self.sasl_mechanism,
            "sasl.username": self.sasl_username,
            "sasl.password": self.sasl_password,
        }
        if self.encrypted and not self.ssl_verify_hostname:
            settings["ssl.endpoint.identification.algorithm"] = "none"
        if self.oauth is not None:
            settings |= self.oauth.librdkafka()
        return _known(settings) | dict(self.properties)

    def java(self) -> dict[str, str]:
        """The settings of a Java client, for Spark.

        PEM contents are inline: an executor on another machine has no such file.
        """
        settings: dict[str, str | None] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
        }
        if self.encrypted and not self.ssl_verify_hostname:
            settings["ssl.endpoint.identification.algorithm"] = ""
        if self.ssl_ca is not None:
            settings["ssl.truststore.type"] = "PEM"
            settings["ssl.truststore.certificates"] = certificates(self.ssl_ca)
        if self.ssl_certificate is not None and self.ssl_key is not None:
            settings["ssl.keystore.type"] = "PEM"
            settings["ssl.keystore.certificate.chain"] = certificates(self.ssl_certificate)
            settings["ssl.keystore.key"] = pkcs8_key(self.ssl_key)
            settings["ssl.key.password"] = self.ssl_key_password
        if self.sasl_mechanism is not None:
            settings["sasl.mechanism"] = self.sasl_mechanism
            module = MODULE_OF_MECHANISM[self.sasl_mechanism]
            settings["sasl.jaas.config"] = render_login(module, self._login_options())
        if self.oauth is not None:
            settings["sasl.login.callback.handler.class"] = _OAUTH_HANDLER
            settings["sasl.oauthbearer.token.endpoint.url"] = self.oauth.token_url
        shared = {name: self.properties[name] for name in SHARED_PROPERTIES & set(self.properties)}
        return _known(settings) | shared

    def kafka_python(self) -> dict[str, Any]:
        """The settings of a kafka-python client, except OAUTHBEARER's token provider."""
        settings = {
            "bootstrap_servers": self.bootstrap_servers.split(","),
            "security_protocol": self.security_protocol,
            "client_id": self.properties.get("client.id"),
            "ssl_check_hostname": self.ssl_verify_hostname,
            "ssl_cafile": readable(self.ssl_ca),
            "ssl_certfile": readable(self.ssl_certificate),
            "ssl_keyfile": readable(self.ssl_key),
            "ssl_password": self.ssl_key_password,
            "sasl_mechanism": self.sasl_mechanism,
            "sasl_plain_username": self.sasl_username,
            "sasl_plain_password": self.sasl_password,
        }
        return _known(settings)

    def _login_options(self) -> dict[str, str]:
        if self.oauth is not None:
            return self.oauth.jaas_options()
        return {"username": self.sasl_username or "", "password": self.sasl_password or ""}


def _known(settings: Mapping[str, _T | None]) -> dict[str, _T]:
    return {name: value for name, value in settings.items() if value is not None}


def _check_addresses(bootstrap_servers: str) -> None:
    for address in bootstrap_servers.split(","):
        match = _ADDRESS.fullmatch(address.strip())
        if match is None or not 0 < int(match[1]) < 65536:
            raise ConfigError(
                f"{address.strip()!r} is not the address of a broker",
                hint="bootstrap servers are HOST:PORT, several separated by commas",
            )


def _check_tls(connection: Connection) -> None:
    if connection.security_protocol not in get_args(SecurityProtocol):
        raise ConfigError(
            f"{connection.security_protocol!r} is not a security protocol",
            hint=f"one of {', '.join(get_args(SecurityProtocol))}",
        )
    files = (connection.ssl_ca, connection.ssl_certificate, connection.ssl_key)
    if any(files) and not connection.encrypted:
        raise ConfigError(
            f"TLS files are set, but {connection.security_protocol} does not use TLS",
            hint="set the security protocol to SSL or SASL_SSL",
        )
    if (connection.ssl_certificate is None) != (connection.ssl_key is None):
        raise ConfigError(
            "a client certificate and its key go together",
            hint="set both ssl_certificate and ssl_key, or none",
        )


def _check_sasl(connection: Connection) -> None:
    mechanism = connection.sasl_mechanism
    login = (connection.sasl_username, connection.sasl_password, connection.oauth)
    if not connection.authenticated:
        if mechanism or any(login):
            raise ConfigError(
                f"a SASL login is set, but {connection.security_protocol} does not log in",
                hint="set the security protocol to SASL_SSL (or SASL_PLAINTEXT)",
            )
        return
    if mechanism not in get_args(SaslMechanism):
        raise ConfigError(
            f"{connection.security_protocol} needs a SASL mechanism"
            + (f", and {mechanism!r} is not supported" if mechanism else ""),
            hint=f"one of {', '.join(get_args(SaslMechanism))}",
        )
    if mechanism == "OAUTHBEARER":
        if connection.oauth is None or any(login[:2]):
            raise ConfigError(
                "OAUTHBEARER logs in with client credentials only",
                hint="set oauth (token URL, client id, client secret), no user name or password",
            )
    elif connection.oauth is not None or not all(login[:2]):
        raise ConfigError(
            f"{mechanism} logs in with a user name and a password only",
            hint="set sasl_username and sasl_password",
        )


def choose_connection(connection: Connection | None, bootstrap_servers: str | None) -> Connection:
    """The connection, from one of the two arguments that name the cluster."""
    if (connection is None) == (bootstrap_servers is None):
        raise ConfigError(
            "either bootstrap_servers or connection is needed, to know the cluster",
            hint="bootstrap_servers='localhost:9092', or a Connection with its security",
        )
    return connection or Connection(bootstrap_servers=bootstrap_servers or "")
