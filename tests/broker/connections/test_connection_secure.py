"""One connection value, against a broker that asks for TLS and a login, through every client."""

# ruff: noqa: S106 - the secrets are made up

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer

from lastword.broker.runtime import KafkaRuntime
from lastword.errors import ConfigError, ConnectionFailedError, FencedError, LastwordError
from lastword.jvm.java_server import JavaProgram
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.admin.transactions import open_transactions
from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FencedLog, FenceNote
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.records import Write
from lastword.testing.certificates import make_certificates
from lastword.testing.read_log import read_log
from lastword.testing.secure_broker import SecureBroker
from lastword.topics.creation import create_topic

JAVA_TIMEOUT_SECONDS = 180


def plain(secure: SecureBroker) -> Connection:
    return Connection(
        bootstrap_servers=secure.login_servers,
        security_protocol="SASL_SSL",
        ssl_ca=secure.certificates.authority,
        sasl_mechanism="PLAIN",
        sasl_username=secure.username,
        sasl_password=secure.password,
    )


def scram(secure: SecureBroker) -> Connection:
    return replace(plain(secure), sasl_mechanism="SCRAM-SHA-512")


def mutual_tls(secure: SecureBroker) -> Connection:
    return Connection(
        bootstrap_servers=secure.mutual_servers,
        security_protocol="SSL",
        ssl_ca=secure.certificates.authority,
        ssl_certificate=secure.certificates.client_certificate,
        ssl_key=secure.certificates.client_key,
    )


@pytest.fixture(params=[plain, scram, mutual_tls], ids=lambda make: make.__name__)
def connection(request: pytest.FixtureRequest, secure_broker: SecureBroker) -> Connection:
    made: Connection = request.param(secure_broker)
    return made


def java_properties(connection: Connection) -> str:
    """As java.util.Properties reads it back."""

    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace("\n", "\\n")

    return "".join(f"{name}={escaped(value)}\n" for name, value in connection.java().items())


def ask_with_java(
    runtime: KafkaRuntime, servers: str, client_properties: Path
) -> subprocess.CompletedProcess[str]:
    """Kafka's own tool, with a Java client, as Kafka's users run it."""
    program = JavaProgram(
        runtime.java,
        "kafka.admin.ConfigCommand",
        class_path=runtime.class_path,
        arguments=(
            *("--bootstrap-server", servers, "--command-config", str(client_properties)),
            *("--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"),
        ),
    )
    return subprocess.run(
        program.command(), capture_output=True, text=True, timeout=JAVA_TIMEOUT_SECONDS, check=False
    )


def test_librdkafka_and_kafka_python_get_in(connection: Connection, topic_name: str) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=1)
        producer = Producer(connection.librdkafka())
        producer.produce(topic_name, b"v", b"k")
        assert producer.flush(10) == 0
        assert admin.end_offsets(topic_name, [0]) == {0: 1}
    (size,) = replica_sizes(connection, topic_name, 1)
    assert size.size_bytes > 0
    assert open_transactions(connection, topic_name, [0]) == []


@pytest.mark.parametrize("make", [plain, mutual_tls])
def test_java_gets_in(
    secure_broker: SecureBroker,
    kafka_runtime: KafkaRuntime,
    tmp_path: Path,
    make: Callable[[SecureBroker], Connection],
) -> None:
    connection = make(secure_broker)
    file = tmp_path / "client.properties"
    file.write_text(java_properties(connection), encoding="utf-8")
    answer = ask_with_java(kafka_runtime, connection.bootstrap_servers, file)
    assert "log.cleaner.backoff.ms=" in answer.stdout, answer.stdout + answer.stderr


def test_a_file_that_kafkas_tools_take_is_taken_here(
    secure_broker: SecureBroker, kafka_runtime: KafkaRuntime, tmp_path: Path
) -> None:
    quoted = secure_broker.password.replace("\\", "\\\\").replace('"', '\\"')
    login = quoted.replace("\\", "\\\\")  # once for JAAS, once for the file
    file = tmp_path / "client.properties"
    file.write_text(
        f"""# as an administrator hands it out
        bootstrap.servers = {secure_broker.login_servers}
        security.protocol: SASL_SSL
        sasl.mechanism=SCRAM-SHA-512
        sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
            username="{secure_broker.username}" password="{login}";
        ssl.truststore.type=PEM
        ssl.truststore.location={secure_broker.certificates.authority}
        """,
        encoding="utf-8",
    )
    answer = ask_with_java(kafka_runtime, secure_broker.login_servers, file)
    assert "log.cleaner.backoff.ms=" in answer.stdout, answer.stdout + answer.stderr
    connection = Connection.from_properties(file)
    assert connection == scram(secure_broker)
    with Admin(connection) as admin:
        assert admin.cluster_id() == secure_broker.broker.info.cluster_id


@pytest.mark.parametrize("make", [plain, scram])
def test_a_wrong_password_fails_at_once_and_is_not_shown(
    secure_broker: SecureBroker, make: Callable[[SecureBroker], Connection]
) -> None:
    wrong = replace(make(secure_broker), sasl_password="s3cr3t-but-wrong")
    with pytest.raises(ConfigError, match="refuses the connection") as caught:
        Admin(wrong).cluster_id()
    assert not caught.value.retriable
    assert "password" in str(caught.value.hint)
    with (
        pytest.raises(LastwordError) as other,
        wire_admin(wrong, doing="asking", timeout_seconds=1),
    ):
        pass
    for error in (caught.value, other.value):
        assert "s3cr3t" not in f"{error} {error.hint}"


def test_a_broker_with_an_unknown_certificate_is_refused(
    secure_broker: SecureBroker, tmp_path: Path
) -> None:
    stranger = make_certificates(tmp_path).authority
    with pytest.raises(ConfigError, match="certificate verify failed"):
        Admin(replace(plain(secure_broker), ssl_ca=stranger)).cluster_id()


def test_talking_plaintext_to_a_tls_port_does_not_get_in(secure_broker: SecureBroker) -> None:
    naive = Connection(bootstrap_servers=secure_broker.login_servers)
    with pytest.raises(ConnectionFailedError):
        Admin(naive, timeout_seconds=1).cluster_id()


@pytest.mark.parametrize("way", [IdempotentLog, partial(TransactionalLog, batch_bytes=100_000)])
def test_fenced_logs_take_over_from_each_other(
    connection: Connection, topic_name: str, way: Callable[..., FencedLog]
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=1)
    old, new = (way(connection, topic_name, 0, f"tests:owner:{topic_name}:0") for _ in range(2))
    old.take_over(FenceNote("old", 1))
    old.append([Write(b"key", b"1")])
    new.take_over(FenceNote("new", 2))
    with pytest.raises(FencedError):
        old.append([Write(b"key", b"2")])
    new.append([Write(b"key", b"3")])
    old.close()
    new.close()
    rows = [record for record in read_log(connection, topic_name) if record.key == b"key"]
    assert [record.value for record in rows] == [b"1", b"3"]
