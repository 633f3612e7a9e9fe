"""Adapts a table to the owned path: its rows, its log, and its position."""

from __future__ import annotations

from collections.abc import Iterable

from lastword.kafka.groups.names import owner_transactional_id
from lastword.kafka.log.source import LogSource
from lastword.kafka.write.fenced import FencedLog, open_fenced_log
from lastword.keyspace import Keyspace
from lastword.records import Position
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.table_config import TableConfig
from lastword.writer.owned.owned_path import OwnedTopic
from lastword.writer.owned.value_operations import ValueOperations


class ReplicaRows:
    """The local copy of one partition, as its owner reads it."""

    def __init__(self, replicas: ReplicaSet, partition: int) -> None:
        self._replicas = replicas
        self._partition = partition

    def row(self, key: bytes) -> bytes | None:
        """The key's row."""
        return self._replicas.at(self._partition).get(key)

    def rows(self) -> Iterable[tuple[bytes, bytes]]:
        """All rows."""
        return self._replicas.at(self._partition).scan()

    def position(self) -> int:
        """The offset after the last record applied to the rows.

        If the partition is not here: an offset that its log had reached a moment ago.
        """
        replica = self._replicas.held.get(self._partition)
        if replica is None:
            return self._replicas.topic_state.ends[self._partition]
        return replica.position

    def wait_for(self, offset: int, timeout_s: float) -> None:
        """Wait until everything below ``offset`` is applied and the partition can serve reads."""
        self._replicas.wait_for(Position({self._partition: offset}), timeout_s)
        self._replicas.at(self._partition).ensure_ready()


def owned_topic(
    config: TableConfig,
    replicas: ReplicaSet,
    keyspace: Keyspace,
    source: LogSource,
    batch_bytes: int,
) -> OwnedTopic:
    """The dependencies of this table's owned path."""

    def open_log(partition: int) -> FencedLog:
        return open_fenced_log(
            config.connection,
            config.topic,
            partition,
            owner_transactional_id(config.application_id, config.topic, partition),
            batch_bytes=batch_bytes,
            clock=config.clock,
        )

    return OwnedTopic(
        topic=config.topic,
        keyspace=keyspace,
        open_log=open_log,
        local=lambda partition: ReplicaRows(replicas, partition),
        lags=replicas.lag,
        log_start=lambda partition: replicas.topic_state.starts[partition],
        source=source,
        operations=ValueOperations(config.decoder.value),
        keeps_leases=config.keeps_leases,
        batch_bytes=batch_bytes,
        clock=config.clock,
    )
