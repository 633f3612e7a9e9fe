from __future__ import annotations

import random

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lastword.broker.embedded import EmbeddedBroker
from lastword.keyspace import Keyspace

KEYSPACE = Keyspace(7)


def test_keys_go_where_librdkafka_puts_them(broker: EmbeddedBroker, topic_name: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic_name, KEYSPACE.partitions, 1)])[topic_name].result(180)
    chance = random.Random(6)
    keys = [chance.randbytes(chance.randrange(1, 40)) for _ in range(500)]
    keys += [b"user-%d" % n for n in range(500)]

    partition_of: dict[bytes, int] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None
        partition_of[message.key()] = message.partition()

    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"}
    )
    for key in keys:
        producer.produce(topic_name, key=key, value=b"", on_delivery=delivered)
    assert producer.flush(30) == 0

    expected = [partition_of[key] for key in keys]
    assert set(expected) == set(range(KEYSPACE.partitions))
    assert KEYSPACE.partitions_of(keys).tolist() == expected
    assert [KEYSPACE.partition_of(key) for key in keys] == expected
    assert KEYSPACE.misplaced(keys, 0).tolist() == [i for i, p in enumerate(expected) if p != 0]
