"""A leader that reaches the brokers and its peers, while its peers do not reach it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from lastword.cluster.cluster import Cluster
from lastword.cluster.peers import PeerSettings
from lastword.cluster.plan import Assignment
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.shared_tables.peer_pair import SECRET
from tests.support.shared_tables.peer_relay import PeerRelay

ALL = {0, 1, 2, 3, 4, 5}
WAIT_S = 180.0


class Instance(Cluster):
    """An instance that offers one topic, and what the last plan gave to it."""

    def __init__(
        self, connection: Connection, application: str, name: str, peer: PeerSettings
    ) -> None:
        super().__init__(connection, application, instance_id=name, peer=peer)
        self.owned: set[int] = set()

    def begin(self) -> None:
        self.start()
        self.offer("carts", len(ALL), self._take, lags=dict)

    def _take(self, assignments: Mapping[int, Assignment]) -> None:
        self.owned = {partition for partition, each in assignments.items() if each.owner.here}


def is_drained(cluster: Cluster) -> bool:
    member = None if cluster.plan is None else cluster.plan.members.get(cluster.instance_id)
    return member is not None and member.draining


def test_its_partitions_go_to_instances_that_can_be_asked(
    connection: Connection, topic_name: str
) -> None:
    with ExitStack() as stack:
        relay = stack.enter_context(PeerRelay(1))
        peers = [PeerSettings(**relay.settings), *[PeerSettings(secret=SECRET)] * 2]
        # Its name is the last: of the others, only the leader would watch it.
        first, *others = everybody = [
            Instance(connection, topic_name, name, peer)
            for name, peer in zip("cab", peers, strict=True)
        ]
        for each in everybody:
            stack.callback(each.close)
            each.begin()
            wait_until(partial(getattr, each, "owned"), "it owns partitions", timeout=WAIT_S)
        wait_until(lambda: len(first.owned) == 2, "they share", timeout=WAIT_S)
        with relay.silent():
            # Not only in the moment after an eviction: it is a member, and owns nothing.
            wait_until(
                lambda: (
                    is_drained(first)
                    and not first.owned
                    and others[0].owned | others[1].owned == ALL
                ),
                "the others own everything",
                timeout=WAIT_S,
            )
        wait_until(lambda: len(first.owned) == 2, "it owns its share again", timeout=WAIT_S)
        assert set().union(*(each.owned for each in everybody)) == ALL
