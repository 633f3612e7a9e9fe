"""Rules 1 to 12 of docs/architecture.md, each with tests that fail when it is broken.

Every test compares a table with an independent reading of the topic's log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.kafka.connection import Connection
from lastword.kafka.log import consumer_reader
from lastword.testing.plugin import EAGER
from tests.support.local_tables.real_topic import MakeTopic, RealTopic
from tests.support.local_tables.table_process import TableProcesses
from tests.support.local_tables.tables import Tables

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.broker)


@pytest.fixture(scope="session")
def connection(broker: EmbeddedBroker) -> Connection:
    """How to reach the session's broker."""
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture(scope="module")
def own_broker(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedBroker]:
    """A second broker, another cluster, to be stopped and damaged; leave it running."""
    directory = tmp_path_factory.mktemp("own-broker")
    # A crashed broker is let in again once the session of its past life has ended.
    sessions = {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "300"}
    with EmbeddedBroker(directory, kafka_runtime, settings=EAGER | sessions) as running:
        yield running


@pytest.fixture
def make_topic(connection: Connection, topic_name: str) -> MakeTopic:
    """A topic of one partition, or of as many as asked for, with these settings."""

    def make(partitions: int = 1, settings: Mapping[str, str] | None = None) -> RealTopic:
        return RealTopic(connection, topic_name).create(partitions, settings)

    return make


@pytest.fixture
def topic(make_topic: MakeTopic) -> RealTopic:
    """A compacted topic of one partition."""
    return make_topic()


@pytest.fixture
def tables(connection: Connection, tmp_path: Path) -> Iterator[Tables]:
    """Opens tables and closes them after the test."""
    with Tables(connection, tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def processes(connection: Connection, tmp_path: Path) -> Iterator[TableProcesses]:
    """Opens tables in separate processes, on the state directory of ``tables``."""
    with TableProcesses(connection.bootstrap_servers, tmp_path / "state") as started:
        yield started


@pytest.fixture
def trickling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables read one record per fetch, so that no tombstone waits in a queue of the reader."""
    trickle = {"queued.min.messages": 1, "max.partition.fetch.bytes": 1}
    monkeypatch.setattr(consumer_reader, "_SETTINGS", dict(consumer_reader._SETTINGS) | trickle)
