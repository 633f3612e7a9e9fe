"""One value describes a cluster for librdkafka, Java and kafka-python, and shows no secret."""

# ruff: noqa: S105, S106 - the secrets are made up

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.kafka.connection.oauth import ClientCredentials

SECRET = "s3cr3t \"quoted\" \\ 'odd' ü"

OAUTH = ClientCredentials(
    token_url="https://id.example.com/token", client_id="me", client_secret=SECRET, scope="kafka"
)


def pem(tmp_path: Path, name: str, *labels: str) -> Path:
    path = tmp_path / name
    blocks = [f"-----BEGIN {label}-----\nQUJD\n-----END {label}-----\n" for label in labels]
    path.write_text("".join(blocks))
    return path


def mutual_tls(tmp_path: Path, **more: Any) -> Connection:
    return Connection(
        bootstrap_servers="a:9093,b:9093",
        security_protocol="SASL_SSL",
        ssl_ca=pem(tmp_path, "ca.pem", "CERTIFICATE", "CERTIFICATE"),
        ssl_certificate=pem(tmp_path, "client.pem", "CERTIFICATE", "PRIVATE KEY"),
        ssl_key=pem(tmp_path, "key.pem", "PRIVATE KEY"),
        ssl_key_password=SECRET,
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password=SECRET,
        **more,
    )


def without_logger(connection: Connection) -> dict[str, Any]:
    return {k: v for k, v in connection.librdkafka().items() if k != "logger"}


def test_a_plain_connection_is_its_address() -> None:
    connection = Connection(bootstrap_servers="localhost:9092")
    assert connection.java() == {
        "bootstrap.servers": "localhost:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert connection.librdkafka()["bootstrap.servers"] == "localhost:9092"
    assert connection.kafka_python()["bootstrap_servers"] == ["localhost:9092"]


def test_mutual_tls_with_scram_is_rendered_for_librdkafka(tmp_path: Path) -> None:
    settings = without_logger(mutual_tls(tmp_path))
    assert settings["security.protocol"] == "SASL_SSL"
    assert settings["ssl.ca.location"] == str(tmp_path / "ca.pem")
    assert settings["ssl.certificate.location"] == str(tmp_path / "client.pem")
    assert settings["ssl.key.location"] == str(tmp_path / "key.pem")
    assert settings["ssl.key.password"] == SECRET
    assert settings["sasl.mechanism"] == "SCRAM-SHA-512"
    assert (settings["sasl.username"], settings["sasl.password"]) == ("alice", SECRET)


def test_java_gets_the_contents_of_the_pem_files_but_no_key_among_certificates(
    tmp_path: Path,
) -> None:
    settings = mutual_tls(tmp_path).java()
    assert settings["ssl.truststore.type"] == settings["ssl.keystore.type"] == "PEM"
    assert settings["ssl.truststore.certificates"].count("BEGIN CERTIFICATE") == 2
    assert "PRIVATE KEY" not in settings["ssl.keystore.certificate.chain"]
    assert settings["ssl.keystore.key"].startswith("-----BEGIN PRIVATE KEY-----")
    assert settings["ssl.key.password"] == SECRET


def test_java_refuses_a_key_it_cannot_read_and_says_how_to_convert_it(tmp_path: Path) -> None:
    connection = Connection(
        bootstrap_servers="a:9093",
        security_protocol="SSL",
        ssl_certificate=pem(tmp_path, "client.pem", "CERTIFICATE"),
        ssl_key=pem(tmp_path, "key.pem", "RSA PRIVATE KEY"),
    )
    with pytest.raises(ConfigError, match="PKCS #8") as caught:
        connection.java()
    assert "openssl pkcs8 -topk8" in str(caught.value.hint)


def test_hostname_verification_can_be_switched_off_for_every_client(tmp_path: Path) -> None:
    connection = mutual_tls(tmp_path, ssl_verify_hostname=False)
    assert connection.librdkafka()["ssl.endpoint.identification.algorithm"] == "none"
    assert connection.java()["ssl.endpoint.identification.algorithm"] == ""
    assert connection.kafka_python()["ssl_check_hostname"] is False


def test_oauth_is_rendered_as_oidc_for_librdkafka_and_as_a_login_for_java() -> None:
    connection = Connection(
        bootstrap_servers="a:9093",
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        oauth=OAUTH,
    )
    settings = connection.librdkafka()
    assert settings["sasl.oauthbearer.method"] == "oidc"
    assert settings["sasl.oauthbearer.client.secret"] == SECRET
    java = connection.java()
    assert java["sasl.oauthbearer.token.endpoint.url"] == "https://id.example.com/token"
    assert java["sasl.login.callback.handler.class"].endswith(".OAuthBearerLoginCallbackHandler")
    assert 'clientId="me"' in java["sasl.jaas.config"]


def test_further_properties_reach_librdkafka_and_java_gets_those_it_knows() -> None:
    connection = Connection(
        bootstrap_servers="a:9092", properties={"client.id": "billing", "socket.nagle.disable": "1"}
    )
    assert connection.librdkafka()["socket.nagle.disable"] == "1"
    assert connection.librdkafka()["client.id"] == connection.java()["client.id"] == "billing"
    assert "socket.nagle.disable" not in connection.java()


@pytest.mark.parametrize("shown", [repr, str, "{!r}".format], ids=["repr", "str", "format"])
def test_no_secret_is_shown(tmp_path: Path, shown: Any) -> None:
    oauth = Connection(
        bootstrap_servers="a:9093",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        oauth=OAUTH,
        properties={"client.id": SECRET},
    )
    for connection in (mutual_tls(tmp_path), oauth):
        assert "s3cr3t" not in shown(connection)
        assert connection.bootstrap_servers in shown(connection)


def test_a_connection_is_a_value(tmp_path: Path) -> None:
    first, second = mutual_tls(tmp_path), mutual_tls(tmp_path)
    assert first == second == pickle.loads(pickle.dumps(first))  # noqa: S301 - our own bytes
    assert len({first, second}) == 1
    with pytest.raises(AttributeError):
        first.bootstrap_servers = "other:9092"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bootstrap_servers": ""}, "not the address"),
        ({"bootstrap_servers": "localhost"}, "not the address"),
        ({"bootstrap_servers": "a:9092,b:99999"}, "'b:99999' is not the address"),
        ({"bootstrap_servers": "http://a:9092"}, "not the address"),
        ({"security_protocol": "TLS"}, "'TLS' is not a security protocol"),
        ({"ssl_ca": Path("ca.pem")}, "PLAINTEXT does not use TLS"),
        ({"security_protocol": "SSL", "ssl_key": Path("k.pem")}, "go together"),
        ({"sasl_mechanism": "PLAIN"}, "PLAINTEXT does not log in"),
        ({"sasl_password": SECRET}, "PLAINTEXT does not log in"),
        ({"security_protocol": "SASL_SSL"}, "needs a SASL mechanism"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"},
            "'GSSAPI' is not supported",
        ),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_password": SECRET},
            "PLAIN logs in with a user name and a password",
        ),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
            "OAUTHBEARER logs in with client credentials",
        ),
        ({"properties": {"sasl.password": SECRET}}, "sasl.password contradicts"),
        ({"properties": {"bootstrap.servers": "b:1"}}, "contradicts"),
    ],
)
def test_contradictions_are_refused_with_a_hint_and_without_the_secret(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Connection(**({"bootstrap_servers": "localhost:9092"} | given))
    assert caught.value.hint
    assert "s3cr3t" not in str(caught.value) + caught.value.hint


def test_a_tls_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    connection = Connection(
        bootstrap_servers="a:9093", security_protocol="SSL", ssl_ca=tmp_path / "missing.pem"
    )
    for render in (connection.librdkafka, connection.java, connection.kafka_python):
        with pytest.raises(ConfigError, match=r"missing\.pem: No such file"):
            render()


def test_an_address_may_be_ipv6() -> None:
    connection = Connection(bootstrap_servers="[::1]:9092, b.example.com:9092")
    assert connection.bootstrap_servers.startswith("[::1]:9092")


def test_every_client_logs_through_the_standard_logging() -> None:
    logger = Connection(bootstrap_servers="a:9092").librdkafka()["logger"]
    assert isinstance(logger, logging.Logger)
    assert logger.name == "lastword.kafka.librdkafka"
