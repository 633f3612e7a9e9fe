"""Three brokers with a network for each instance, to be cut and slowed down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.testing.plugin import EAGER
from tests.support.linearizability.campaign import INSTANCES
from tests.support.network.proxied_cluster import ProxiedCluster

# Killed brokers are replaced, and let in again, within seconds.
SESSIONS = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}


@pytest.fixture(scope="module")
def proxied_cluster(
    kafka_runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProxiedCluster]:
    """Of this module alone: brokers are killed in it."""
    directory = tmp_path_factory.mktemp("proxied")
    brokers = EmbeddedBroker(directory, kafka_runtime, brokers=3, settings=EAGER | SESSIONS)
    with ProxiedCluster(brokers, INSTANCES) as proxied:
        yield proxied
