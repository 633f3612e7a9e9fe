"""Brokers with several networks: proxies in front of all of the brokers, one for each client."""

from __future__ import annotations

from contextlib import ExitStack

from lastword.broker.embedded import EmbeddedBroker
from tests.support.network.kafka_proxy import KafkaProxy


class ProxiedCluster(ExitStack):
    """A cluster with several networks; what happens in one is not noticed in the others.

    ``brokers`` has a way without proxies, too: that of the brokers themselves and of the test.
    """

    def __init__(self, brokers: EmbeddedBroker, networks: int) -> None:
        super().__init__()
        self.brokers = brokers
        self.brokers.start()
        self.callback(self.brokers.kill)
        servers = self.brokers.bootstrap_servers
        self.networks = [self.enter_context(KafkaProxy(servers)) for _ in range(networks)]
