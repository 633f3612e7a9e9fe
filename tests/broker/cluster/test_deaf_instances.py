"""Instances whose requests reach the brokers, while the answers do not reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from lastword.cluster.cluster import Cluster
from lastword.cluster.peers import PeerSettings
from lastword.cluster.plan import Assignment
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.network.kafka_proxy import KafkaProxy
from tests.support.shared_tables.peer_pair import SECRET

ALL = {0, 1, 2, 3}
WAIT_S = 240.0
API_KEYS = range(100)
ATTEMPTS = 8


class Instance(Cluster):
    """An instance with a network of its own to the brokers, and what the last plan gave to it."""

    def __init__(self, brokers: KafkaProxy, application: str, name: str) -> None:
        connection = Connection(bootstrap_servers=brokers.bootstrap_servers)
        peer = PeerSettings(secret=SECRET)
        super().__init__(connection, application, instance_id=name, peer=peer)
        self.brokers = brokers
        self.owned: set[int] = set()

    def begin(self) -> None:
        self.start()
        self.offer("carts", len(ALL), self._take, lags=dict)

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """During the block no broker answers it."""
        with self.brokers.holding("response", *API_KEYS):
            yield

    def _take(self, assignments: Mapping[int, Assignment]) -> None:
        self.owned = {partition for partition, each in assignments.items() if each.owner.here}


class Pair(ExitStack):
    """Two instances that share the partitions."""

    def __init__(self, connection: Connection, application: str) -> None:
        super().__init__()
        servers = connection.bootstrap_servers
        self.both = [
            Instance(self.enter_context(KafkaProxy(servers)), application, name) for name in "ab"
        ]

    def begin(self) -> None:
        for each in self.both:
            self.callback(each.close)
            each.begin()
            wait_until(partial(getattr, each, "owned"), "it owns partitions", timeout=WAIT_S)

    def settled(self) -> bool:
        """Whether both own their share by the same plan."""
        owned = [each.owned for each in self.both]
        plans = {each.plan.number for each in self.both if each.plan is not None}
        return len(plans) == 1 and list(map(len, owned)) == [2, 2] and owned[0] | owned[1] == ALL

    def deafen(self, *, leader: bool, noticed: Callable[[], bool]) -> bool:
        """Deafen the leader, or the other one, until its partitions are elsewhere because of that.

        On a machine that stalls its session may end first, or the leader change: then again.
        False if nothing else ever made a difference.
        """
        for _ in range(ATTEMPTS):
            wait_until(self.settled, "both own their share", timeout=WAIT_S)
            victim, other = sorted(self.both, key=lambda each: leads(each) != leader)
            believes = partial(other._hearing.believes, victim.instance_id)
            wait_until(believes, "the other one is believed", timeout=WAIT_S)
            with victim.deaf():
                wait_until(lambda: other.owned == ALL, "it takes over", timeout=WAIT_S)  # noqa: B023
            if noticed():
                return True
        return False


def leads(instance: Instance) -> bool:
    """Whether it wrote the last plan."""
    return instance.plan is not None and instance.plan.leader == instance.instance_id


def test_a_deaf_leader_is_evicted_and_another_deaf_instance_drained(
    connection: Connection, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Pair(connection, topic_name) as pair:
        pair.begin()
        assert pair.deafen(leader=True, noticed=lambda: "no broker answers it" in caplog.text)
        assert pair.deafen(
            leader=False,
            noticed=lambda: any(
                move.cause == "drained" for each in pair.both for move in each.movements
            ),
        )
