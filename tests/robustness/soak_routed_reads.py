"""LASTWORD_TEST_ROUTED_READS reads of other instances' partitions while owners change.

Processes share a table and read it as fast as they can. Meanwhile a fourth joins, is drained and
leaves, and the three are restarted one after the other. No read may fail, and each answer is
compared with the log: it is what the log has at its position, and no staler than it says.

Run by `make soak`: it needs time.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lastword.cluster.control_topic import PLAN_KEY
from lastword.cluster.forecast import moves_between
from lastword.cluster.plan import Plan, decode_plan
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import control_topic
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from tests.support.partition_faults.history_check import read_histories, violations
from tests.support.partition_faults.instances import (
    PARTITIONS,
    SETTLED_S,
    RecordedInstance,
    settled,
)
from tests.support.peer_pair import SECRET
from tests.support.real_topic import RealTopic

log = logging.getLogger(__name__)

READS = int(os.environ.get("LASTWORD_TEST_ROUTED_READS", "1000000"))
KEPT = {"min.compaction.lag.ms": "86400000"}


class Campaign(ExitStack):
    """Three instances that restart, and a fourth that comes and goes."""

    def __init__(self, connection: Connection, topic: str, directory: Path) -> None:
        super().__init__()
        self._directory, self._connection = directory, connection
        self._options: dict[str, Any] = {
            "topic": topic,
            "application_id": topic,
            "standbys": 1,
            "bootstrap_servers": connection.bootstrap_servers,
            "peer": {"secret": SECRET},
            "read_every_s": 0.0,
        }
        self._topic = topic
        self.members = [self._start(name, restart_within="10m") for name in "abc"]
        self.histories = {each.history for each in self.members}
        self.wait_until_settled(self.members)

    def _start(self, name: str, **options: Any) -> RecordedInstance:
        instance = RecordedInstance(name, self._directory, **self._options, **options)
        self.callback(_kill, instance)
        return instance

    def wait_until_settled(self, members: Sequence[RecordedInstance]) -> None:
        wait_until(lambda: settled(members), "a plan at rest", timeout=SETTLED_S, every=0.2)

    @property
    def plan(self) -> Plan:
        records = RealTopic(self._connection, control_topic(self._topic)).log()
        return [decode_plan(each.value or b"") for each in records if each.key == PLAN_KEY][-1]

    def a_fourth_comes_and_goes(self, number: int) -> None:
        """Only its share moves to it; it is drained before it leaves."""
        before = self.plan
        fourth = self._start(f"d{number}")
        self.histories.add(fourth.history)
        self.wait_until_settled([*self.members, fourth])
        moved = moves_between(before, self.plan)
        assert {each.target for each in moved} <= {fourth.name}
        assert len(moved) <= -(-PARTITIONS // 4)
        self.members[0].ask(f"drain {fourth.name}")
        wait_until(lambda: not fourth.ask()["owned"], "the fourth to be drained", timeout=SETTLED_S)
        self.wait_until_settled([*self.members, fourth])
        assert fourth.process.leave() == 0
        wait_until(lambda: fourth.name not in self.plan.members, "it to be gone", timeout=SETTLED_S)
        self.wait_until_settled(self.members)

    def everybody_restarts(self) -> None:
        """One after the other; no owner changes in any plan of that time."""
        before = self.plan
        for member in self.members:
            assert member.process.leave() == 0
            member.start_again()
            self.wait_until_settled(self.members)
        assert not moves_between(before, self.plan)

    @property
    def routed(self) -> int:
        """How many reads another instance than the reader has answered."""
        return sum(
            fields[0] == "r" and fields[4] == "ok" and fields[9] != path.stem
            for path in self.histories
            for fields in map(json.loads, path.read_text().splitlines()[:-1])
        )


def _kill(instance: RecordedInstance) -> None:
    instance.process.kill()  # of its last life


def test_routed_reads_are_no_staler_than_they_say_while_owners_change(
    connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    RealTopic(connection, topic_name).create(PARTITIONS, KEPT)
    with Campaign(connection, topic_name, tmp_path) as campaign:
        rounds = 0
        while campaign.routed < READS:
            rounds += 1
            campaign.a_fourth_comes_and_goes(rounds)
            campaign.everybody_restarts()
        routed = campaign.routed
        # At the end everybody is killed: a partition may lose its last copy before its reader.
    histories = read_histories(campaign.histories)
    failed = [each for each in histories.reads if each.status != "ok"]
    found = violations(histories, list(read_log(connection, topic_name)))
    stale_s = max(each.staleness_s for each in histories.reads)
    log.warning(
        "%d rounds, %d reads, %d of them routed, %d failed, %d writes, staleness max %.2f s",
        *(rounds, len(histories.reads), routed, len(failed), len(histories.writes), stale_s),
    )
    assert not found, f"{len(found)} violations, the first of them: {found[:5]}"
    assert not failed, f"{len(failed)} reads failed, the first of them: {failed[:5]}"
