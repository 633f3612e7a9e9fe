"""What the settings of a Java ``client.properties`` mean for a ``Connection``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lastword.errors import ConfigError
from lastword.kafka.connection.jaas import MODULE_OF_MECHANISM, parse_login
from lastword.kafka.connection.oauth import ClientCredentials

log = logging.getLogger(__name__)

SHARED_PROPERTIES = frozenset(
    {
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "metadata.max.age.ms",
        "connections.max.idle.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
    }
)
"""Settings that Java and librdkafka know by the same name and with the same meaning."""

_INLINE_PEM = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")
_HARMLESS = ("ssl.protocol", "ssl.enabled.protocols", "ssl.truststore.password")
_STORE_HINTS = {
    "ssl.truststore": "export it: keytool -list -rfc -keystore {path} > ca.pem, then set "
    "ssl.truststore.type=PEM and ssl.truststore.location=ca.pem",
    "ssl.keystore": "export it: keytool -importkeystore -srckeystore {path} -destkeystore c.p12 "
    "-deststoretype PKCS12, then openssl pkcs12 -in c.p12 -out client.pem, then set "
    "ssl.keystore.type=PEM and ssl.keystore.location=client.pem",
}


def fields_from_client_properties(given: Mapping[str, str], *, source: str) -> dict[str, Any]:
    """The arguments for ``Connection``; an unknown security setting is an error, never ignored.

    Other settings that say nothing about a connection (a deserializer, a group id) are named in
    the log and ignored, as Kafka's own tools do.
    """
    left = dict(given)
    found: dict[str, Any] = {
        "bootstrap_servers": left.pop("bootstrap.servers", None),
        "security_protocol": left.pop("security.protocol", "PLAINTEXT").upper(),
        "ssl_ca": _store(left, "ssl.truststore"),
    }
    keystore = _store(left, "ssl.keystore")
    # A PEM key store is one file with the key and its certificates, so it serves as both.
    found |= {"ssl_certificate": keystore, "ssl_key": keystore}
    store_password = left.pop("ssl.keystore.password", None)
    found["ssl_key_password"] = left.pop("ssl.key.password", None) or store_password
    found["ssl_verify_hostname"] = (
        left.pop("ssl.endpoint.identification.algorithm", "https").lower() == "https"
    )
    found |= _login(left)
    found["properties"] = {name: left.pop(name) for name in SHARED_PROPERTIES & left.keys()}
    _refuse_unknown(left, source)
    return {name: value for name, value in found.items() if value is not None}


def _store(left: dict[str, str], prefix: str) -> Path | None:
    location = left.pop(f"{prefix}.location", None)
    kind = left.pop(f"{prefix}.type", "JKS").upper()
    if location is None:
        return None
    if kind != "PEM":
        raise ConfigError(
            f"{prefix}.location is a {kind} store; only PEM files are read",
            hint=_STORE_HINTS[prefix].format(path=location),
        )
    return Path(location)


def _login(left: dict[str, str]) -> dict[str, Any]:
    mechanism = left.pop("sasl.mechanism", None)
    line = left.pop("sasl.jaas.config", None)
    token_url = left.pop("sasl.oauthbearer.token.endpoint.url", None)
    handler = left.pop("sasl.login.callback.handler.class", None)
    if handler is not None and not handler.endswith(".OAuthBearerLoginCallbackHandler"):
        raise ConfigError(
            f"the login callback handler {handler} is Java code",
            hint="use PLAIN, SCRAM, or OAUTHBEARER with sasl.oauthbearer.token.endpoint.url",
        )
    if line is None:
        return {"sasl_mechanism": mechanism}
    login = parse_login(line)
    expected = MODULE_OF_MECHANISM.get(mechanism or "")
    if expected is not None and login.module != expected:
        raise ConfigError(
            f"sasl.mechanism is {mechanism} but sasl.jaas.config names {login.module}",
            hint=f"use {expected}",
        )
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "oauth": _oauth(login.options, left, token_url)}
    return {
        "sasl_mechanism": mechanism,
        "sasl_username": login.options.get("username"),
        "sasl_password": login.options.get("password"),
    }


def _oauth(
    options: Mapping[str, str], left: dict[str, str], token_url: str | None
) -> ClientCredentials:
    # Kafka 4.1 moved these from the login line to settings of their own; both are in use.
    def read(option: str, setting: str) -> str | None:
        return left.pop(f"sasl.oauthbearer.{setting}", None) or options.get(option)

    client_id = read("clientId", "client.credentials.client.id")
    client_secret = read("clientSecret", "client.credentials.client.secret")
    scope = read("scope", "scope")
    if not (token_url and client_id and client_secret):
        raise ConfigError(
            "OAUTHBEARER needs a token endpoint, a client id and a client secret",
            hint="set sasl.oauthbearer.token.endpoint.url, and clientId and clientSecret in "
            "sasl.jaas.config",
        )
    return ClientCredentials(
        token_url=token_url, client_id=client_id, client_secret=client_secret, scope=scope
    )


def _refuse_unknown(left: Mapping[str, str], source: str) -> None:
    for name in left:
        if name in _INLINE_PEM:
            raise ConfigError(
                f"{name} in {source} holds PEM text", hint="put it into a file and name the file"
            )
        if name.startswith(("ssl.", "sasl.", "security.")) and name not in _HARMLESS:
            raise ConfigError(
                f"{name} in {source} is not supported",
                hint="remove it, or see the connection settings in the documentation",
            )
    ignored = sorted(name for name in left if name not in _HARMLESS)
    if ignored:
        log.warning(
            "%s: these settings do not concern a connection: %s", source, ", ".join(ignored)
        )
