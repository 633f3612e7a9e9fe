"""Instances of a partitioned table, several in one process: each a member of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lastword.cluster.cluster import Cluster
from lastword.cluster.peers import PeerSettings
from lastword.cluster.plan import Plan
from lastword.kafka.connection import Connection
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.partitioned.fresh_as_of import FreshAsOf
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.tables import Tables
from tests.support.shared_tables.peer_pair import SECRET


class PartitionedTables(Tables):
    """``open("a")`` is an instance of the topic's table that is ready."""

    def __init__(self, connection: Connection, state_dir: Path, topic: str) -> None:
        super().__init__(connection, state_dir)
        self.topic = topic
        self.instances: dict[str, Table] = {}

    def open(self, name: str, **options: Any) -> Table:
        table = self.begin(name, **options)
        table.wait_ready()
        return table

    def begin(self, name: str, **options: Any) -> Table:
        settings = {
            "layout": "partitioned",
            "application_id": self.topic,
            "instance_id": name,
            "state_dir": self.state_dir / name,
            "peer": PeerSettings(secret=SECRET),
        }
        table = self.make(self.topic, **(settings | options))
        self.instances[name] = table
        table.start()
        return table


def cluster_of(table: Table) -> Cluster:
    shared = table._lifecycle.parts.shared
    assert shared is not None
    return shared._placement.cluster


def plan_of(table: Table) -> Plan | None:
    return cluster_of(table).plan


def fresh_of(table: Table) -> FreshAsOf:
    shared = table._lifecycle.parts.shared
    assert shared is not None
    return shared._fresh


def replicas_of(table: Table) -> ReplicaSet:
    return table._lifecycle.parts.replicas


def held(table: Table) -> set[int]:
    return {p for p, replica in replicas_of(table).held.items() if replica.ready}


def wait_until_settled(tables: Iterable[Table], partitions: int, copies: int) -> Plan:
    """Until nothing moves, and each instance holds exactly what the plan gives it."""
    tables = list(tables)

    def settled() -> Plan | None:
        plans = [plan_of(table) for table in tables]
        plan = plans[0]
        if plan is None or any(each != plan for each in plans) or plan.moves:
            return None
        (topic,) = {table.topic for table in tables}
        kept: dict[str, set[int]] = {}
        for partition in range(partitions):
            names = [copy.instance_id for copy in plan.copies(topic, partition)]
            if len(names) != copies:
                return None
            for name in names:
                kept.setdefault(name, set()).add(partition)
        mine = [kept.get(table._lifecycle._config.instance.instance_id or "") for table in tables]
        return plan if mine == [held(table) for table in tables] else None

    found = wait_until(settled, f"{len(tables)} instances share the partitions", timeout=180)
    assert found is not None
    return found
