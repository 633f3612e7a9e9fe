"""What is in the log of a topic, for tests that compare it with what was written."""

from __future__ import annotations

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.records import Record


def read_log(connection: Connection, topic: str) -> list[Record]:
    """Every committed record that is in the log now, by partition and offset."""
    with Admin(connection) as admin:
        partitions = range(admin.describe(topic).partitions)
        starts = admin.start_offsets(topic, partitions)
        ends = admin.end_offsets(topic, partitions)
    ranges = {p: (starts[p], ends[p]) for p in partitions}
    found = [r for batch in KafkaLog(connection).read(topic, ranges) for r in batch.records()]
    return sorted(found, key=lambda record: (record.partition, record.offset))
