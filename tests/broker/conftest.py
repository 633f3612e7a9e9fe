"""What broker tests share: a connection, a topic of their own, tables closed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.topics.creation import create_topic
from tests.support.local_tables.tables import Tables


@pytest.fixture(scope="session")
def connection(broker: EmbeddedBroker) -> Connection:
    """How to reach the session's broker."""
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture(scope="session")
def admin(connection: Connection) -> Iterator[Admin]:
    """Questions to the session's broker."""
    with Admin(connection) as asking:
        yield asking


@pytest.fixture
def topic(admin: Admin, topic_name: str) -> str:
    """A compacted topic with three partitions."""
    create_topic(admin, topic_name, partitions=3)
    return topic_name


@pytest.fixture
def one_partition(admin: Admin, topic_name: str) -> str:
    """A compacted topic with a single partition."""
    create_topic(admin, topic_name, partitions=1)
    return topic_name


@pytest.fixture(params=["memory", "rocksdb"])
def store(request: pytest.FixtureRequest) -> str:
    """Each store that holds a whole table."""
    return str(request.param)


@pytest.fixture
def tables(connection: Connection, tmp_path: Path) -> Iterator[Tables]:
    """Opens tables and closes them after the test."""
    with Tables(connection, tmp_path / "state") as opened:
        yield opened
