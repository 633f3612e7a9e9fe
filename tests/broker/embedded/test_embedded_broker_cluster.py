"""Three embedded brokers form one cluster that survives the loss of any of them."""

from __future__ import annotations

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lastword.broker import cluster_probe
from lastword.broker.embedded import EmbeddedBroker
from lastword.testing import wait_until


def test_each_of_three_brokers_knows_the_other_two(cluster: EmbeddedBroker) -> None:
    views = [cluster_probe.ask("127.0.0.1", node.port, 5) for node in cluster.info.nodes]
    assert {view.broker_ids for view in views} == {frozenset({1, 2, 3})}
    assert {view.cluster_id for view in views} == {cluster.info.cluster_id}


def test_an_acknowledged_write_survives_a_killed_broker_that_then_comes_back(
    cluster: EmbeddedBroker, topic_name: str
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    new = NewTopic(
        topic_name, 1, replica_assignment=[[3, 1, 2]], config={"min.insync.replicas": "2"}
    )
    admin.create_topics([new])[topic_name].result(timeout=180)
    offsets: list[int] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})

    def write() -> None:
        producer.produce(
            topic_name, key=b"k", value=b"v", on_delivery=lambda _, m: offsets.append(m.offset())
        )
        assert producer.flush(30) == 0

    write()
    cluster.nodes[2].kill()
    assert [node.id for node in cluster.info.running_nodes()] == [1, 2]
    write()
    cluster.nodes[2].start()
    assert offsets == [0, 1]

    def in_sync() -> set[int]:
        return set(admin.list_topics(topic_name, timeout=180).topics[topic_name].partitions[0].isrs)

    wait_until(lambda: in_sync() == {1, 2, 3}, "the broker that was killed to catch up")
