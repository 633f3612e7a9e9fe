"""Topics on three brokers: known to all of them, and still there when one of them is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import ConnectionFailedError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.connection import Connection
from lastword.testing.waiting import wait_until
from lastword.topics.check import check_topic
from lastword.topics.compaction import compaction
from lastword.topics.creation import create_topic


@pytest.fixture
def admin(cluster: EmbeddedBroker) -> Iterator[Admin]:
    with Admin(Connection(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        yield admin


def test_every_broker_knows_a_new_topic_at_once_and_forgets_a_deleted_one(
    admin: Admin, cluster: EmbeddedBroker, topic_name: str
) -> None:
    def who_knows() -> list[bool]:
        """A new client asks the one broker it is given."""
        alone = [
            Admin(Connection(bootstrap_servers=address))
            for address in cluster.bootstrap_servers.split(",")
        ]
        return [topic_name in each.topics() for each in alone]

    wait_until(lambda: len(admin.brokers()) == 3, "all brokers are members of the cluster")
    for _ in range(3):
        created = create_topic(admin, topic_name, partitions=4, replication=3)
        assert who_knows() == [True, True, True]
        assert created.replication == 3
        assert admin.settings(topic_name)["min.insync.replicas"] == "2"
        admin.delete(topic_name)
        assert who_knows() == [False, False, False]


def test_every_replica_has_a_size_and_only_local_leaders_a_cleaner(
    admin: Admin, cluster: EmbeddedBroker, topic_name: str
) -> None:
    info = create_topic(admin, topic_name, partitions=3, replication=2)
    sizes = replica_sizes(admin.connection, topic_name, 3)
    expected = {(each.partition, broker) for each in info.layout for broker in each.replicas}
    assert {(size.partition, size.broker) for size in sizes} == expected
    some = [node.info for node in cluster.nodes if node.info.id == info.layout[0].leader]
    found = compaction(admin, topic_name, local_nodes=some)
    known = {each.partition for each in found if each.cleaner is not None}
    assert known == {each.partition for each in info.layout if each.leader == some[0].id}
    assert all(each.size_bytes == 0 for each in found)


def test_one_copy_on_a_cluster_of_three_is_reported(admin: Admin, topic_name: str) -> None:
    create_topic(admin, topic_name, replication=1)
    (found,) = check_topic(admin, topic_name)
    assert (found.setting, found.wanted, found.severity) == ("replication", "3", "warning")


def test_questions_are_answered_while_any_one_broker_is_dead(
    admin: Admin, cluster: EmbeddedBroker, topic_name: str
) -> None:
    """A client keeps asking a dead broker for seconds; ours does not."""
    before = create_topic(admin, topic_name, partitions=3, replication=3)
    victim = cluster.nodes[0]
    victim.kill()
    try:
        assert wait_until(lambda: _topic_id(admin, topic_name), "an answer") == before.topic_id

        def led() -> bool:
            with suppress(ConnectionFailedError):  # the controller may have been the victim, too
                layout = admin.describe(topic_name).layout
                return all(each.leader not in (None, victim.info.id) for each in layout)
            return False

        wait_until(led, "the others lead the partitions of the dead broker")
        assert admin.end_offsets(topic_name, range(3)) == {0: 0, 1: 0, 2: 0}
    finally:
        victim.start()


def _topic_id(admin: Admin, topic: str) -> str | None:
    try:
        return admin.describe(topic).topic_id
    except ConnectionFailedError:
        return None
