"""A Java client.properties becomes a connection, or an error that says what to change."""

# ruff: noqa: S105, S106 - the secrets are made up

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.kafka.connection.jaas import parse_login, render_login
from lastword.kafka.connection.java_properties import parse_java_properties

TEXT = st.text(st.characters(exclude_categories=("Cs",)))


def connection_from(tmp_path: Path, text: str) -> Connection:
    path = tmp_path / "client.properties"
    path.write_text(text, encoding="utf-8")
    return Connection.from_properties(path)


def java_store(properties: dict[str, str]) -> str:
    """Write properties as java.util.Properties.store does."""
    lines = []
    for name, value in properties.items():
        lines.append(f"{_escape(name, blanks=True)}={_escape(value, blanks=False)}")
    return "\n".join(lines)


def _escape(text: str, *, blanks: bool) -> str:
    out = []
    for index, character in enumerate(text):
        if character == " " and (blanks or index == 0):
            out.append("\\ ")
        elif character in "\t\n\r\f":
            out.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[character])
        elif character in "\\=:#!":
            out.append("\\" + character)
        elif not 0x20 <= ord(character) <= 0x7E:
            units = character.encode("utf-16-be")
            out += [f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2)]
        else:
            out.append(character)
    return "".join(out)


@given(st.dictionaries(TEXT.filter(bool), TEXT))
def test_what_java_stores_is_read_back(properties: dict[str, str]) -> None:
    assert parse_java_properties(java_store(properties)) == properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb:2\nc 3\nd\t=\t4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("  # comment\n! another\n\n a = b ", {"a": "b "}),
        ("a=one\\\n   two\\\n\tthree", {"a": "onetwothree"}),
        ("a=ends in backslash\\\\\nb=1", {"a": "ends in backslash\\", "b": "1"}),
        ("a=1\\\n# not a comment", {"a": "1# not a comment"}),
        ("a==b", {"a": "=b"}),
        ("a\\:b\\ c=d", {"a:b c": "d"}),
        ("empty=\nalone", {"empty": "", "alone": ""}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=\\u00fc\\uD83D\\uDE00", {"a": "ü😀"}),
        ("a=last line goes on\\", {"a": "last line goes on"}),
    ],
)
def test_the_syntax_is_that_of_java(text: str, expected: dict[str, str]) -> None:
    assert parse_java_properties(text) == expected


def test_a_broken_unicode_escape_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a character"):
        parse_java_properties("a=\\u12")


@given(st.dictionaries(st.from_regex(r"[a-z][\w.\-]*", fullmatch=True), TEXT))
def test_a_login_line_survives_writing_and_reading(options: dict[str, str]) -> None:
    assert parse_login(render_login("a.b.Module", options)) == ("a.b.Module", options)


def test_scram_over_tls_is_read(tmp_path: Path) -> None:
    connection = connection_from(
        tmp_path,
        r"""
        bootstrap.servers = a:9093,b:9093
        security.protocol = SASL_SSL
        sasl.mechanism: SCRAM-SHA-256
        sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
            username="alice" \
            password="p\\"w;=x";
        ssl.truststore.type=PEM
        ssl.truststore.location=/etc/kafka/ca.pem
        ssl.endpoint.identification.algorithm=
        client.id=billing
        """,
    )
    assert connection == Connection(
        bootstrap_servers="a:9093,b:9093",
        security_protocol="SASL_SSL",
        ssl_ca=Path("/etc/kafka/ca.pem"),
        ssl_verify_hostname=False,
        sasl_mechanism="SCRAM-SHA-256",
        sasl_username="alice",
        sasl_password='p"w;=x',
        properties={"client.id": "billing"},
    )


def test_a_pem_key_store_is_certificate_and_key_at_once(tmp_path: Path) -> None:
    connection = connection_from(
        tmp_path,
        "bootstrap.servers=a:9093\nsecurity.protocol=SSL\nssl.keystore.type=PEM\n"
        "ssl.keystore.location=/etc/kafka/client.pem\nssl.key.password=x\n",
    )
    assert connection.ssl_certificate == connection.ssl_key == Path("/etc/kafka/client.pem")
    assert connection.ssl_key_password == "x"


def test_oauth_is_read_from_the_login_line(tmp_path: Path) -> None:
    connection = connection_from(
        tmp_path,
        "bootstrap.servers=a:9093\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
        "sasl.oauthbearer.token.endpoint.url=https://id/token\n"
        "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer"
        ".OAuthBearerLoginCallbackHandler\n"
        "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule "
        "required clientId='me' clientSecret='x' scope='s';\n",
    )
    assert connection.oauth is not None
    assert (connection.oauth.client_id, connection.oauth.scope) == ("me", "s")


def test_a_rendered_java_connection_is_read_back(tmp_path: Path) -> None:
    connection = Connection(
        bootstrap_servers="a:9092",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password="all of \"\\ =:#!' ü",
    )
    assert connection_from(tmp_path, java_store(connection.java())) == connection


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("ssl.truststore.location=t.jks", "JKS store", "keytool -list -rfc"),
        ("ssl.keystore.location=k.p12\nssl.keystore.type=PKCS12", "PKCS12", "openssl pkcs12"),
        ("ssl.keystore.key=-----BEGIN", "PEM text", "file"),
        ("ssl.provider=X", "ssl.provider", "remove"),
        ("sasl.login.class=com.example.Login", "sasl.login.class", "remove"),
        ("sasl.login.callback.handler.class=com.example.H", "Java code", "SCRAM"),
        ("sasl.jaas.config=nonsense", "cannot|not a login line", "looks like"),
        ('sasl.jaas.config=M required password=s3cr3t " broken;', "not a login line", "looks"),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config="
            "org.apache.kafka.common.security.scram.ScramLoginModule required password=s3cr3t;",
            "PLAIN but sasl.jaas.config names",
            "PlainLoginModule",
        ),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config="
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'clientSecret="s3cr3t";',
            "needs a token endpoint",
            "token.endpoint.url",
        ),
    ],
)
def test_an_unsupported_setting_is_refused_without_showing_a_secret(
    tmp_path: Path, line: str, message: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        connection_from(tmp_path, f"bootstrap.servers=a:9092\n{line}\n")
    assert hint in str(caught.value.hint)
    assert "s3cr3t" not in f"{caught.value} {caught.value.hint}"


def test_settings_that_do_not_concern_a_connection_are_named_and_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        connection = connection_from(tmp_path, "bootstrap.servers=a:9092\ngroup.id=billing\n")
    assert connection == Connection(bootstrap_servers="a:9092")
    assert "group.id" in caplog.text


def test_a_file_without_an_address_needs_one_from_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not say where"):
        connection_from(tmp_path, "client.id=x")
    given = Connection.from_properties(
        tmp_path / "client.properties", bootstrap_servers="flag:9092"
    )
    assert given.bootstrap_servers == "flag:9092"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.properties"):
        Connection.from_properties(tmp_path / "nowhere.properties")
