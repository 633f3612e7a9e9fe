"""Bytes on disk, replica by replica, as the brokers report them."""

from __future__ import annotations

from typing import NamedTuple

from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection


class ReplicaSize(NamedTuple):
    """How much one replica of one partition takes on its broker's disk."""

    partition: int
    broker: int
    size_bytes: int
    log_dir: str


def replica_sizes(connection: Connection, topic: str, partitions: int) -> list[ReplicaSize]:
    """Every replica of the topic's first ``partitions`` partitions, sorted.

    A replica on a broker that is down, or one that is being moved, is absent.
    """
    with wire_admin(connection, doing=f"reading the sizes of {topic!r}") as admin:
        brokers = admin.describe_log_dirs({topic: list(range(partitions))})
    return sorted(
        ReplicaSize(
            partition["partition_index"], broker["broker"], partition["partition_size"], log_dir
        )
        for broker in brokers
        for each in broker["log_dirs"]
        for log_dir in (each["log_dir"],)
        for found in each["topics"]
        if found["name"] == topic
        for partition in found["partitions"]
        if not partition["is_future_key"]
    )
