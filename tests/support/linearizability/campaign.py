"""A whole campaign: instances at work on one topic, faults, and what is left afterwards."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lastword.records import FENCE_KEY, Record, Version
from lastword.table.table import Table
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from lastword.writer.owned.verdict import request_id_of
from tests.support.linearizability.history import Operation, read_history
from tests.support.linearizability.instances import Instances
from tests.support.linearizability.log_check import LoggedWrite
from tests.support.linearizability.nemesis import Nemesis
from tests.support.linearizability.worker import PLAIN, TRANSACTIONS, Way
from tests.support.local_tables.real_topic import EAGER_COMPACTION, FILLER, RealTopic
from tests.support.network.harmed_cluster import HarmedCluster
from tests.support.network.kafka_proxy import END_TXN
from tests.support.network.proxied_cluster import ProxiedCluster

OPERATIONS = int(os.environ.get("LASTWORD_TEST_OWNERSHIP_OPERATIONS", "0"))
SEED = int(os.environ.get("LASTWORD_TEST_OWNERSHIP_SEED", "1"))
PARTITIONS = 4
INSTANCES = 3
THREADS = 4

# The cleaner waits until the log has been read: the log is the judge.
KEPT = {"min.insync.replicas": "2", "min.compaction.lag.ms": "86400000"}
CLEANED = EAGER_COMPACTION | {"min.compaction.lag.ms": "0"}


class Campaign:
    """Instances of one application on a cluster of three brokers."""

    def __init__(
        self, proxied: ProxiedCluster, topic: str, directory: Path, way: Way = PLAIN
    ) -> None:
        self._proxied = proxied
        self._cluster = HarmedCluster(proxied.brokers)
        self._topic = topic
        self._directory = directory
        self._way = way
        self._real = RealTopic(self._cluster.connection, topic).create(
            PARTITIONS, KEPT, replication=3
        )

    def run(self) -> None:
        """The worst faults once; in a soak all of them, until there were enough operations."""
        dice = random.Random(SEED)
        options = {
            "topic": self._topic,
            "application_id": f"{self._topic[-40:]}-app",
            "threads": THREADS,
            "way": self._way,
        }
        committed = self._transactions()
        with Instances(self._directory, self._proxied, **options) as instances:
            for starting in [instances.start() for _ in range(INSTANCES)]:
                starting.wait_ready()
            nemesis = Nemesis(instances, self._cluster, self._topic, dice)
            nemesis.wait_until_all_write()
            by_transactions = self._way == TRANSACTIONS
            for fault in nemesis.worst_for_transactions if by_transactions else nemesis.worst:
                nemesis.strike(fault)
            while instances.operations() < OPERATIONS:
                nemesis.strike(dice.choice(nemesis.faults))
            for instance in instances.running:
                instance.leave()
        assert (self._transactions() > committed) == by_transactions

    def _transactions(self) -> int:
        """How many transactions were ended so far."""
        return sum(each.passed["request", END_TXN] for each in self._proxied.networks)

    def history(self) -> list[Operation]:
        """Everything that was asked for."""
        return read_history(sorted(self._directory.glob("*.history")))

    def log(self) -> list[LoggedWrite]:
        """Every record that an operation wrote."""
        records = read_log(self._cluster.connection, self._topic)
        return [_logged(each) for each in records if each.key != FENCE_KEY]

    def compacted_and_rebuilt(self) -> Mapping[str, Any]:
        """The rows of a table without local state, after the log was fully compacted."""
        self._real.alter(CLEANED)
        wait_until(self._fill_and_look, "every key to have one record", timeout=180, every=0.2)
        servers = self._cluster.connection.bootstrap_servers
        with Table(
            self._topic, bootstrap_servers=servers, state_dir=self._directory / "rebuilt"
        ) as table:
            return {key: value for key, value in table.items() if key != FILLER.decode()}

    def _fill_and_look(self) -> bool:
        for partition in range(PARTITIONS):
            self._real.produce((FILLER, b"0"), partition=partition)
        keys = Counter(
            (record.partition, record.key)
            for record in self._real.log()
            if record.key not in (FILLER, FENCE_KEY)
        )
        return max(keys.values(), default=0) == 1


def _logged(record: Record) -> LoggedWrite:
    value = None if record.value is None else json.loads(record.value)
    key = (record.key or b"").decode()
    version = Version(record.partition, record.offset)
    return LoggedWrite(key, version, value, request_id_of(record.headers))
