"""Instances of one application in separate processes, shared by the tests of a module."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.admin import Admin
from lastword.topics.creation import create_topic
from tests.support.shared_tables.owned_process import OwnedProcesses, StartInstances


@pytest.fixture(scope="module")
def start_instances(
    broker: EmbeddedBroker, admin: Admin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartInstances]:
    """Makes a topic with so many partitions, and starts instances that share them."""
    started: list[OwnedProcesses] = []
    state: Path = tmp_path_factory.mktemp("instances")

    def start(partitions: int) -> OwnedProcesses:
        topic = f"instances-{uuid.uuid4().hex[:8]}"
        create_topic(admin, topic, partitions=partitions)
        started.append(OwnedProcesses(broker.bootstrap_servers, state / topic, topic))
        return started[-1]

    yield start
    for each in started:
        each.close()
