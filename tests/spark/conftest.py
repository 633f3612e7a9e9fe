"""One Spark session for all tests here, and a bench with a source topic for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lastword.broker.embedded import EmbeddedBroker
from lastword.jvm.java import find_java
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.spark.session import build_session
from tests.support.on_spark.pipelines import Bench


@pytest.fixture(scope="session")
def home(prepared: Path) -> Path:
    """Where jars are kept."""
    return prepared


@pytest.fixture(scope="session")
def spark(home: Path) -> Iterator[SparkSession]:
    """A session on two cores."""
    session = build_session(
        "tests", home=home, java=find_java(os.environ), master="local[2,2]", delta_at=str(home)
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connection(broker: EmbeddedBroker) -> Connection:
    """How to reach the session's broker."""
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def bench(connection: Connection, topic_name: str, tmp_path: Path) -> Iterator[Bench]:
    """A source topic with three partitions and a directory for state."""
    with Admin(connection) as admin:
        bench = Bench(connection, admin, topic_name, tmp_path)
        bench.add_source(topic_name)
        yield bench
