"""Three instances restart, a fourth comes and goes, while all of them read and write."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lastword.cluster.control_topic import PLAN_KEY
from lastword.cluster.forecast import moves_between
from lastword.cluster.plan import Plan, decode_plan
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import control_topic
from lastword.table.table import Table
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from tests.support.local_tables.real_topic import RealTopic
from tests.support.partition_faults.histories import WriteMade, read_histories
from tests.support.partition_faults.history_check import judge
from tests.support.partition_faults.reading import GET, GET_MANY, SCAN
from tests.support.partition_faults.worker import History, Load, Reading
from tests.support.shared_tables.partitioned_tables import (
    PartitionedTables,
    cluster_of,
    replicas_of,
    wait_until_settled,
)

pytestmark = pytest.mark.broker

PARTITIONS = 4
# The cleaner keeps off: the log is the judge.
KEPT = {"min.compaction.lag.ms": "86400000"}
OPTIONS: dict[str, Any] = {
    "standbys": 1,
    "writes": "owned",
    "store": "rocksdb",
    "restart_within": "5m",
    "max_stale": "5m",
}
READING = Reading(threads=2, every_s=0.02, kinds={GET: 4, GET_MANY: 1, SCAN: 1})
WRITE_TIMEOUT_S = 30.0


class LoadedTables(PartitionedTables):
    """Instances that read and write all the time, and keep a record of it."""

    def __init__(self, connection: Connection, directory: Path, topic: str) -> None:
        super().__init__(connection, directory, topic)
        self._loads: dict[str, tuple[Load, threading.Event]] = {}

    def load(self, *names: str) -> None:
        """Open them, and let them work."""
        for name in names:
            self.begin(name, **OPTIONS)
        for name in names:
            self.instances[name].wait_ready()
            history, stopping = History(self.history(name)), threading.Event()
            load = Load(self.instances[name], name, history, stopping, READING)
            self._loads[name] = load, stopping
            self.callback(self.rest, name)

    def rest(self, *names: str) -> None:
        """Let them finish what they are doing; idempotent."""
        resting = [self._loads.pop(name) for name in names if name in self._loads]
        for _, stopping in resting:
            stopping.set()
        for load, _ in resting:
            load.join()

    def history(self, name: str) -> Path:
        return self.state_dir / f"{name}.history"

    @property
    def three(self) -> list[Table]:
        return [self.instances[name] for name in "abc"]

    def plans(self) -> list[Plan]:
        records = RealTopic(self.connection, control_topic(self.topic)).log()
        return [decode_plan(each.value or b"") for each in records if each.key == PLAN_KEY]


def every_one_restarts(tables: LoadedTables) -> None:
    """One after the other; no plan of that time has another owner or standby."""
    before = wait_until_settled(tables.three, PARTITIONS, copies=2)
    for name in "abc":
        tables.rest(name)
        tables.instances[name].close()
        tables.load(name)
        wait_until_settled(tables.three, PARTITIONS, copies=2)
    since = [plan for plan in tables.plans() if plan.number >= before.number]
    assert len(since) > 3
    for plan in since:
        assert (plan.owners, plan.standbys) == (before.owners, before.standbys)


def a_fourth_gets_its_share(tables: LoadedTables) -> None:
    """And nothing else moves; it has a copy of a partition before it owns it."""
    before = len(tables.plans()) - 1
    tables.load("d")
    wait_until_settled(tables.instances.values(), PARTITIONS, copies=2)
    plans = tables.plans()[before:]
    moved = moves_between(plans[0], plans[-1])
    assert [each.target for each in moved] == ["d"]
    for old, new in pairwise(plans):
        for move in moves_between(old, new):
            kept = [copy.instance_id for copy in old.copies(move.topic, move.partition)]
            assert move.target in kept


def the_fourth_is_drained(tables: LoadedTables) -> None:
    """It answers until others have everything, and reads and writes after that."""
    fourth = tables.instances["d"]
    cluster_of(tables.instances["a"]).drain("d")
    wait_until(lambda: not replicas_of(fourth).held, "d keeps nothing", timeout=180)
    wait_until_settled(tables.three, PARTITIONS, copies=2)


def not_for_lack_of_time(writes: Sequence[WriteMade]) -> list[WriteMade]:
    """The failed writes; a busy machine may take longer than a write waits to restart one."""
    return [w for w in writes if w.status != "ok" and w.ended - w.began < WRITE_TIMEOUT_S]


def test_no_read_and_no_write_fails_while_instances_restart_come_and_go(
    connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    RealTopic(connection, topic_name).create(PARTITIONS, KEPT)
    with LoadedTables(connection, tmp_path, topic_name) as tables:
        tables.load(*"abc")
        every_one_restarts(tables)
        a_fourth_gets_its_share(tables)
        the_fourth_is_drained(tables)
        tables.rest(*"abcd")
        histories = read_histories(map(tables.history, "abcd"))
        verdict = judge(histories, read_log(connection, topic_name))
    assert not verdict.violations
    assert not verdict.failed
    assert not not_for_lack_of_time(histories.writes)
    assert verdict.routed > 0
    assert {each.instance for each in histories.writes} == set("abcd")
