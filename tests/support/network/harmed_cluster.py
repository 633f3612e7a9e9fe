"""Three brokers of which one hangs or dies, and comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from lastword.broker.broker_node import BrokerNode
from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.testing import wait_until

Harm = Literal["hung", "killed"]
HEALED_S = 90.0


class HarmedCluster:
    """Harms one broker at a time, by who leads what."""

    def __init__(self, brokers: EmbeddedBroker) -> None:
        self.connection = Connection(bootstrap_servers=brokers.bootstrap_servers)
        self.admin = Admin(self.connection)
        self._nodes = brokers.nodes

    def leader(self, topic: str, partition: int = 0) -> BrokerNode:
        """The broker that leads the partition."""
        leader = self.admin.describe(topic).layout[partition].leader
        return next(node for node in self._nodes if node.info.id == leader)

    @contextmanager
    def harmed(self, node: BrokerNode, harm: Harm, topics: Sequence[str]) -> Iterator[None]:
        """Until the end of the block, and then until every leader of the topics answers again."""
        if harm == "hung":
            node.pause()
        else:
            node.kill()
        try:
            yield
        finally:
            if harm == "hung":
                node.resume()
            else:
                node.start()
            wait_until(
                lambda: all(map(self._answers, topics)), "all replicas in sync", timeout=HEALED_S
            )

    def wait_until_led_by_another(self, topic: str, partition: int, former: BrokerNode) -> None:
        """Until the partition has a leader again, and another one."""

        def led() -> bool:
            try:
                leader = self.admin.describe(topic).layout[partition].leader
            except LastwordError:  # it may have been the controller, too
                return False
            return leader not in (None, former.info.id)

        wait_until(led, "the next leader", timeout=HEALED_S)

    def _answers(self, topic: str) -> bool:
        try:
            layout = self.admin.describe(topic).layout
            self.admin.end_offsets(topic, range(len(layout)))
        except LastwordError:
            return False
        return all(len(each.in_sync) == len(each.replicas) for each in layout)
