"""pytest fixtures that give tests a real Kafka broker; loaded by pytest's entry point.

    broker          one broker for the whole test run, compacting eagerly
    cluster         three brokers that form a cluster, for the whole test run
    secure_broker   a broker that asks for TLS and a login, for the whole test run
    kafka_runtime   Java and the broker's jars, for a test that starts a broker of its own
    registry        a schema registry for the whole test run; its archive of 159 MB is fetched once
    topic_name      a topic name no other test uses

Each is started when the first test asks for it and stopped when the tests end. A test that
stops or breaks a broker starts one of its own: ``EmbeddedBroker(tmp_path, kafka_runtime)``.

The jars are kept where ``lastword`` keeps them (``LASTWORD_HOME``, else the platform's data
directory), or where ``--lastword-home`` says, and so are downloaded once.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.home import default_home
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.registry_server.runtime import RegistryRuntime

if TYPE_CHECKING:
    from lastword.testing.secure_broker import SecureBroker

_TOPIC_NAME_LENGTH_MAX = 120  # some of it is left for suffixes: Kafka allows 249

EAGER = {
    # A test that waits for compaction must not wait for the cleaner to wake up,
    "log.cleaner.backoff.ms": "200",
    # nor for files of a deleted topic or an expired segment to be removed,
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "500",
    # nor ten seconds for a transaction whose writer was killed to be aborted.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # The only broker is of no use to anybody when it is fenced for being slow on a busy machine.
    "broker.session.timeout.ms": "30000",
}
"""Broker settings that make a test's waits short.

A broker that was *killed* is let in again when its old session has ended: a test that kills one
sets ``broker.session.timeout.ms`` to a few seconds.
"""

# Long enough for a busy machine, short enough to wait until a dead node is replaced.
_EAGER_CLUSTER = {
    **EAGER,
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that says where the jars are."""
    parser.getgroup("lastword").addoption(
        "--lastword-home",
        type=Path,
        help="where the jars of the embedded broker are kept (default: as for lastword itself)",
    )


@pytest.fixture(scope="session")
def kafka_runtime(request: pytest.FixtureRequest) -> KafkaRuntime:
    """Java and the broker's jars; downloads them when they are not there yet."""
    home = request.config.getoption("--lastword-home") or default_home()
    return KafkaRuntime.prepare(home, os.environ)


@pytest.fixture(scope="session")
def broker(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedBroker]:
    """One running broker, shared: use topics of your own and leave it running."""
    yield from _run(
        EmbeddedBroker(tmp_path_factory.mktemp("broker"), kafka_runtime, settings=EAGER)
    )


@pytest.fixture(scope="session")
def cluster(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedBroker]:
    """Three running brokers, shared: a test that stops a node starts it again."""
    directory = tmp_path_factory.mktemp("cluster")
    yield from _run(EmbeddedBroker(directory, kafka_runtime, brokers=3, settings=_EAGER_CLUSTER))


@pytest.fixture(scope="session")
def secure_broker(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecureBroker]:
    """One running broker that asks for TLS and a login; needs the package ``cryptography``."""
    # Imported here: most test runs need neither this broker nor that package.
    from lastword.testing.secure_broker import make_secure_broker  # noqa: PLC0415

    secure = make_secure_broker(tmp_path_factory.mktemp("secure-broker"), kafka_runtime)
    for _ in _run(secure.broker):
        yield secure


@pytest.fixture(scope="session")
def registry(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedRegistry]:
    """One running schema registry, shared: use subjects of your own and leave it running."""
    home = request.config.getoption("--lastword-home") or default_home()
    runtime = RegistryRuntime.prepare(home, os.environ)
    found = EmbeddedRegistry(tmp_path_factory.mktemp("registry"), runtime)
    found.start()
    try:
        yield found
    finally:
        found.kill()  # its schemas are in memory


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A topic name that says which test it belongs to and that no other test uses."""
    readable = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")
    return f"{readable[:_TOPIC_NAME_LENGTH_MAX]}-{uuid.uuid4().hex[:8]}"


def _run(broker: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()  # nobody needs the data; an orderly end of a cluster takes six seconds
