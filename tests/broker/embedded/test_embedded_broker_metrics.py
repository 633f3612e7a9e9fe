"""Compaction can be observed: in the broker's metrics, in its files and in its log."""

from __future__ import annotations

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lastword.broker.embedded import EmbeddedBroker
from lastword.testing import wait_until

EAGERLY_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",  # the smallest Kafka allows
    "min.cleanable.dirty.ratio": "0.01",
}


def gauges_of(broker: EmbeddedBroker, topic: str, partition: int) -> dict[str, float]:
    labels = {"topic": topic, "partition": str(partition)}
    samples = broker.info.nodes[0].metrics()
    return {sample.name: sample.value for sample in samples if sample.labels == labels}


def cleaner_of(broker: EmbeddedBroker) -> dict[str, float]:
    samples = broker.info.nodes[0].metrics()
    return {s.name: s.value for s in samples if s.name.startswith("kafka_log_LogCleaner")}


def test_every_partition_shows_its_size_offsets_and_segments(
    broker: EmbeddedBroker, topic_name: str
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic_name, 2, 1)])[topic_name].result(timeout=180)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for _ in range(3):
        producer.produce(topic_name, key=b"key", value=b"value", partition=1)
    assert producer.flush(20) == 0
    first = wait_until(lambda: gauges_of(broker, topic_name, 0), "the first partition's metrics")
    second = wait_until(lambda: gauges_of(broker, topic_name, 1), "the second partition's metrics")
    assert first["kafka_log_Log_LogEndOffset"] == 0
    assert second["kafka_log_Log_LogEndOffset"] == 3
    assert second["kafka_log_Log_LogStartOffset"] == 0
    assert second["kafka_log_Log_NumLogSegments"] == 1
    assert second["kafka_cluster_Partition_LastStableOffsetLag"] == 0
    (segment,) = broker.info.nodes[0].segments(topic_name, 1)
    assert segment.base_offset == 0
    assert segment.size == second["kafka_log_Log_Size"] > 0


def test_a_compaction_is_seen_in_metrics_files_and_log(
    broker: EmbeddedBroker, topic_name: str
) -> None:
    node = broker.info.nodes[0]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    new = NewTopic(topic_name, 1, 1, config=EAGERLY_COMPACTED)
    admin.create_topics([new])[topic_name].result(timeout=180)
    assert (topic_name, 0) not in node.cleaner_checkpoint()

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(3_000):  # three times the same thousand keys, a kilobyte each
        producer.produce(topic_name, key=str(number % 1_000), value=bytes(1_000))
    assert producer.flush(20) == 0

    dirty_from = wait_until(
        lambda: node.cleaner_checkpoint().get((topic_name, 0)), "the cleaner to pass"
    )
    assert 0 < dirty_from <= 3_000
    cleaner = cleaner_of(broker)
    assert cleaner["kafka_log_LogCleaner_max_clean_time_secs"] >= 0
    assert cleaner["kafka_log_LogCleaner_DeadThreadCount"] == 0
    assert cleaner["kafka_log_LogCleanerManager_uncleanable_partitions_count"] == 0
    assert "kafka_log_LogCleaner_cleaner_recopy_percent" in cleaner
    assert "kafka_log_LogCleanerManager_max_dirty_percent" in cleaner
    assert f"Log cleaner thread 0 cleaned log {topic_name}-0" in node.log_file.read_text()
