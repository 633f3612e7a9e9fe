"""Tables that hold some partitions of their topic, and keys that are known to be in one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from lastword.keyspace import Keyspace
from lastword.replicas.replica_set import ReplicaSet
from lastword.rows import value_of
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.tables import Tables

PARTITIONS = 3


def open_partial(tables: Tables, topic: str, partitions: Collection[int], **options: Any) -> Table:
    """A table that holds these partitions and is ready."""
    table = tables.make(topic, **options)
    life = table._lifecycle
    life._config = replace(life._config, partitions=frozenset(partitions))
    table.start()
    table.wait_ready()
    return table


def replicas_of(table: Table) -> ReplicaSet:
    return table._lifecycle.parts.replicas


def gain(table: Table, partition: int) -> None:
    """Gain a partition and wait until it serves reads."""
    replica = replicas_of(table).gain(partition)
    wait_until(lambda: replica.ready, f"partition {partition} is restored")
    table.wait_ready()


def home(key: bytes) -> int:
    return Keyspace(PARTITIONS).partition_of(key)


def keys_in(partition: int, count: int) -> list[bytes]:
    """The first so many of ``key-0``, ``key-1``, ... that belong to a partition."""
    found = (b"key-%d" % n for n in range(count * PARTITIONS * 10))
    return [key for key in found if home(key) == partition][:count]


def rows_held(table: Table) -> dict[bytes, bytes]:
    """Every row that is held here, all partitions as of one moment."""
    with replicas_of(table).one_moment() as seen:
        scans = [replica.scan() for replica in seen.values()]
    return {key: value_of(row) for scan in scans for key, row in scan}
