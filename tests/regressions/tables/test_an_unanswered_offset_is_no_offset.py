"""The offsets of a partition without a leader are unknown, not -1001.

librdkafka answers -1001 without an error for a partition whose leader hangs or is gone, and -1
for a time that no record has. Both used to be returned, or taken as the end of the log.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import ConfigError, ConnectionFailedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import READER_GROUP, pipeline_group
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines.graph.topology import check_name
from lastword.replicas.state_directory import StateDirectory
from lastword.replicas.topic.topic_state import read_topic_state
from lastword.testing.fake_clock import FakeClock
from lastword.writer.direct import WRITE_TIMEOUT_S
from tests.support.local_tables.offline_topic import OfflineTopic
from tests.support.local_tables.real_topic import RealTopic
from tests.support.network.harmed_cluster import HarmedCluster

IN_YEAR_2200_MS = 7_258_118_400_000
QUESTIONS: list[Callable[[Admin, str], object]] = [
    lambda admin, topic: admin.bounds(topic, [0]),
    lambda admin, topic: admin.start_offsets(topic, [0]),
    lambda admin, topic: admin.end_offsets(topic, [0]),
    lambda admin, topic: admin.stable_offsets(topic, [0]),
    lambda admin, topic: admin.offsets_since(topic, {0: 2}, IN_YEAR_2200_MS),
]


def test_the_partitions_of_a_silent_leader_have_no_offsets_and_the_others_have_theirs(
    cluster: EmbeddedBroker, topic_name: str
) -> None:
    brokers = HarmedCluster(cluster)
    topic = RealTopic(brokers.connection, topic_name).create(partitions=3)
    for partition in range(3):
        topic.produce((b"a", b"1"), (b"b", b"2"), partition=partition)
    admin = brokers.admin
    before = read_topic_state(admin, topic.name, 0)
    victim = brokers.leader(topic.name, 0)
    silent = {p for p in range(3) if brokers.leader(topic.name, p) is victim}
    led = dict.fromkeys(set(range(3)) - silent, 2)
    with brokers.harmed(victim, "hung", [topic.name]):
        for question in QUESTIONS:
            with pytest.raises(
                ConnectionFailedError, match="no answer from the leader of partition"
            ):
                question(Admin(brokers.connection, timeout_seconds=2), topic.name)
        assert admin.offsets_since(topic.name, led, IN_YEAR_2200_MS) == led
        assert admin.bounds_answered(topic.name, range(3)).keys() == led.keys()
        after = read_topic_state(admin, topic.name, 1, before=before)
        assert after.unanswered == silent
        assert after.ends == before.ends
    assert admin.end_offsets(topic.name, range(3)) == dict.fromkeys(range(3), 2)


@pytest.mark.parametrize("offset", [OFFSET_INVALID, OFFSET_BEGINNING, OFFSET_END])
def test_a_reader_begins_at_an_offset_and_nowhere_else(
    connection: Connection, topic_name: str, offset: int
) -> None:
    reader = KafkaLog(connection).follow(topic_name)
    try:
        with pytest.raises(ValueError, match="is not an offset"):
            reader.assign(0, offset)
    finally:
        reader.close()


@pytest.mark.parametrize("bounds", [(-1001, 0, 0), (0, -1001, 5), (3, 2, 5), (0, 5, 4)])
def test_the_offsets_of_a_log_are_in_order(bounds: tuple[int, int, int]) -> None:
    start, stable, end = bounds
    topic = OfflineTopic(FakeClock())
    with pytest.raises(ValueError, match="partition 0 cannot start at"):
        topic.state(starts={0: start}, stable_ends={0: stable}, ends={0: end})


def test_no_client_can_commit_to_the_group_of_the_readers(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        StateDirectory(tmp_path, READER_GROUP, "a-table", FakeClock())
    with pytest.raises(ConfigError):
        check_name(READER_GROUP, "an application id")
    with pytest.raises(ConfigError):
        pipeline_group(READER_GROUP)


def test_a_silent_broker_times_out_early_enough_for_a_second_try(connection: Connection) -> None:
    assert 2 * connection.librdkafka()["socket.timeout.ms"] < 1000 * WRITE_TIMEOUT_S
