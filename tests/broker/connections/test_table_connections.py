"""Tables on clusters that are not there, are not what they should be, or ask who is calling."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lastword.errors import (
    ConfigError,
    ConnectionFailedError,
    LastwordError,
    TopicNotFoundError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.table.table_state import TableState
from lastword.testing.secure_broker import SecureBroker
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_no_broker_at_the_address_is_said(
    tables: Tables, closed_port: int, silent_port: int
) -> None:
    def try_to_open(port: int) -> LastwordError:
        nobody = Connection(bootstrap_servers=f"127.0.0.1:{port}")
        table = tables.make("any-topic", connection=nobody)
        with pytest.raises(ConnectionFailedError, match=f"127.0.0.1:{port}") as failed:
            table.start()
        table.close()
        assert table.state is TableState.STOPPED
        return failed.value

    with ThreadPoolExecutor() as pool:  # at once, since each takes its time
        for error in pool.map(try_to_open, (closed_port, silent_port)):
            assert error.retriable
            assert "lastword broker status" in (error.hint or "")


def test_an_unknown_topic_is_named_with_the_way_to_create_it(
    tables: Tables, topic_name: str, admin: Admin
) -> None:
    with pytest.raises(TopicNotFoundError, match=f"no topic '{topic_name}'") as failed:
        tables.open(topic_name)
    assert f"lastword topic create {topic_name}" in (failed.value.hint or "")
    assert topic_name not in admin.topics()


def test_a_table_that_could_not_start_can_be_started_once_the_topic_is_there(
    tables: Tables, topic_name: str, admin: Admin
) -> None:
    table = tables.make(topic_name, store="rocksdb")
    with pytest.raises(TopicNotFoundError):
        table.start()
    assert table.state is TableState.CREATED
    create_topic(admin, topic_name)
    table.start()
    table.wait_ready()
    table.put("a", 1)
    assert table["a"] == 1


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_table_works_over_tls_with_a_login(
    secure_broker: SecureBroker, tables: Tables, topic_name: str, mechanism: str
) -> None:
    login = Connection(
        bootstrap_servers=secure_broker.login_servers,
        security_protocol="SASL_SSL",
        ssl_ca=secure_broker.certificates.authority,
        sasl_mechanism=mechanism,  # type: ignore[arg-type]
        sasl_username=secure_broker.username,
        sasl_password=secure_broker.password,
    )
    with Admin(login) as admin:
        create_topic(admin, topic_name)
    table = tables.open(topic_name, connection=login, store="rocksdb")
    with table.watch() as watch:
        table.put("a", 1)
        table.put_many({"b": 2, "c": 3})
        table.delete("b")
        assert {change.key for change in (watch.take(20) for _ in range(4)) if change} == set("abc")
    assert dict(table.items()) == {"a": 1, "c": 3}
    with table.watch(table.position()) as later:
        assert later.take(0.1) is None
    restored = tables.open(topic_name, connection=login, name="again")
    assert list(restored.items()) == list(table.items())


def test_a_wrong_password_is_said_at_once(
    secure_broker: SecureBroker, tables: Tables, topic_name: str
) -> None:
    wrong = Connection(
        bootstrap_servers=secure_broker.login_servers,
        security_protocol="SASL_SSL",
        ssl_ca=secure_broker.certificates.authority,
        sasl_mechanism="PLAIN",
        sasl_username=secure_broker.username,
        sasl_password=f"not {secure_broker.password}",
    )
    with pytest.raises(ConfigError, match="refuses the connection") as refused:
        tables.open(topic_name, connection=wrong)
    assert "password" in (refused.value.hint or "")
    assert secure_broker.password not in str(refused.value)
