"""Brokers that clients reach through proxies only: each network leads to all of the brokers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.jvm.ports import free_ports
from tests.support.kafka_network import KafkaNetwork

LOOPBACK = "127.0.0.1"


class ProxiedCluster:
    """A cluster with several networks; what happens in one is not noticed in the others.

    ``brokers`` has a way without proxies, too: that of the brokers themselves and of the test.
    """

    def __init__(
        self,
        directory: Path,
        runtime: KafkaRuntime,
        *,
        brokers: int,
        networks: int,
        settings: Mapping[str, str],
    ) -> None:
        names = [f"NETWORK{n}" for n in range(networks)]
        listeners = dict.fromkeys(names, "PLAINTEXT")
        self.brokers = EmbeddedBroker(
            directory, runtime, brokers=brokers, settings=settings, listeners=listeners
        )
        taken = [port for node in self.brokers.nodes for port in node.info.ports]
        free = iter(free_ports(brokers * networks, besides=taken))
        self._ports = {name: [next(free) for _ in self.brokers.nodes] for name in names}
        for place, node in enumerate(self.brokers.nodes):
            advertised = [f"PLAINTEXT://{LOOPBACK}:{node.info.port}"]
            advertised += [f"{name}://{LOOPBACK}:{self._ports[name][place]}" for name in names]
            # The brokers tell clients of a listener to connect to its proxies.
            node._settings = {**node._settings, "advertised.listeners": ",".join(advertised)}
        self.networks = [KafkaNetwork(self._routes(name)) for name in names]

    def bootstrap_servers(self, network: int) -> str:
        """Where a client of that network connects."""
        return ",".join(f"{LOOPBACK}:{port}" for port in self._ports[f"NETWORK{network}"])

    def start(self) -> None:
        """Start the brokers and the proxies."""
        self.brokers.start()
        for network in self.networks:
            network.start()

    def kill(self) -> None:
        """End everything."""
        for network in self.networks:
            network.close()
        self.brokers.kill()

    def _routes(self, name: str) -> dict[int, tuple[str, int]]:
        return {
            port: (LOOPBACK, node.info.listeners[name])
            for port, node in zip(self._ports[name], self.brokers.nodes, strict=True)
        }
