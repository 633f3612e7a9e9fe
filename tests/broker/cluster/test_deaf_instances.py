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
from tests.support.kafka_proxy import KafkaProxy
from tests.support.peer_pair import SECRET

ALL = {0, 1, 2, 3}
WAIT_S = 120.0
API_KEYS = range(100)
ATTEMPTS = 4


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
    """Two instances that share the partitions; ``a`` leads at first."""

    def __init__(self, connection: Connection, application: str) -> None:
        super().__init__()
        servers = connection.bootstrap_servers
        self.a, self.b = (
            Instance(self.enter_context(KafkaProxy(servers)), application, name) for name in "ab"
        )

    def begin(self) -> None:
        for each in (self.a, self.b):
            self.callback(each.close)
            each.begin()
            wait_until(partial(getattr, each, "owned"), "it owns partitions", timeout=WAIT_S)
        self.wait_until_shared()

    def wait_until_shared(self) -> None:
        wait_until(
            lambda: (
                len(self.a.owned) == len(self.b.owned) == 2 and self.a.owned | self.b.owned == ALL
            ),
            "both own their share",
            timeout=WAIT_S,
        )

    def deafen_a(self, noticed: Callable[[], bool]) -> None:
        """Until ``b`` owns everything because of that.

        On a machine that stalls, the session of ``a`` may end first: then it is deafened again.
        """
        for _ in range(ATTEMPTS):
            wait_until(lambda: self.b._hearing.sure, "it trusts its brokers", timeout=WAIT_S)
            with self.a.deaf():
                wait_until(lambda: self.b.owned == ALL, "b takes over", timeout=WAIT_S)
            self.wait_until_shared()
            if noticed():
                return
        pytest.fail("only the end of its session made a difference")


def test_a_deaf_instance_gives_its_partitions_away_whether_it_leads_or_not(
    connection: Connection, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Pair(connection, topic_name) as pair:
        pair.begin()
        assert pair.a.leads
        pair.deafen_a(lambda: "no broker answers it" in caplog.text)
        assert pair.b.leads
        pair.deafen_a(lambda: any(each.cause == "drained" for each in pair.b.movements))
