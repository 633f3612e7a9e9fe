"""What is processed leaves a repartition topic; what is not stays."""

from __future__ import annotations

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.pipelines.run.repartition_purge import PURGE_INTERVAL_S, RepartitionPurge
from lastword.records import TopicPartition
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.tables import write_raw


def test_only_committed_records_are_deleted_and_not_before_it_is_time(
    connection: Connection, admin: Admin, topic_name: str
) -> None:
    settings = {"cleanup.policy": "delete", "retention.ms": "-1"}
    admin.create(topic_name, partitions=2, replication=1, settings=settings)
    write_raw(connection, topic_name, [(b"k", b"v")] * 5, partition=0)
    clock = FakeClock()
    committed = {TopicPartition(topic_name, 0): Committed(3, "")}
    committed[TopicPartition("another", 0)] = Committed(9, "")
    purge = RepartitionPurge(connection, [topic_name], lambda: committed, clock)
    purge.if_due()
    assert admin.start_offsets(topic_name, [0, 1]) == {0: 0, 1: 0}
    clock.advance(seconds=PURGE_INTERVAL_S)
    purge.if_due()
    assert admin.start_offsets(topic_name, [0, 1]) == {0: 3, 1: 0}
