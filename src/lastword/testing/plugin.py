"""pytest fixtures that give tests a real Kafka broker; loaded by pytest's entry point.

    broker         one broker for the whole test run, compacting eagerly
    topic_name     a topic name no other test uses

The jars of the broker are kept where ``lastword`` keeps them (``LASTWORD_HOME``, else the
platform's data directory), or where ``--lastword-home`` says, so they are downloaded once.
A broker is started when the first test asks for it, and stopped when the tests end.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.home import default_home
from lastword.broker.runtime import KafkaRuntime

_LONGEST_TOPIC_NAME = 249

# A test that waits for compaction must not wait for the cleaner to wake up.
_EAGER_CLEANER = {"log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "100"}


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
    home = request.config.getoption("--lastword-home") or default_home(os.environ)
    return KafkaRuntime.prepare(home, os.environ)


@pytest.fixture(scope="session")
def broker(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedBroker]:
    """One running broker for the whole test run; use topics of your own."""
    directory = tmp_path_factory.mktemp("broker")
    with EmbeddedBroker(directory, kafka_runtime, settings=_EAGER_CLEANER) as running:
        yield running


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A topic name that says which test it belongs to and that no other test uses."""
    readable = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")
    suffix = f"-{uuid.uuid4().hex[:8]}"
    return readable[: _LONGEST_TOPIC_NAME - len(suffix)] + suffix
