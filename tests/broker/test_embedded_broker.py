"""The embedded broker is a real Kafka: it starts, answers, keeps its data and goes away."""

from __future__ import annotations

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lastword.broker.embedded import EmbeddedBroker


def test_a_topic_can_be_created_and_written_as_soon_as_the_broker_is_started(
    broker: EmbeddedBroker, topic_name: str
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    created = admin.create_topics([NewTopic(topic_name, 2, 1)])
    created[topic_name].result(timeout=10)
    offsets: list[int] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
    producer.produce(
        topic_name,
        key=b"k",
        value=b"v",
        on_delivery=lambda error, message: offsets.append(message.offset()),
    )
    assert producer.flush(10) == 0
    assert offsets == [0]
