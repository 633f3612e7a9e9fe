"""LASTWORD_TEST_ROUTED_READS requests answered by other instances while owners change.

Processes share a table, write it, and read it as fast as they can: single keys, several keys and
ranges. Meanwhile a fourth joins, is drained and leaves, and the three are restarted one after the
other. No read and no write may fail. Each answer is compared with the log: it has exactly the rows
that the log has at its position, and is no staler than it says.

Run by `make soak`: it needs time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from lastword.cluster.control_topic import PLAN_KEY
from lastword.cluster.forecast import moves_between
from lastword.cluster.plan import Plan, decode_plan
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import control_topic
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from tests.support.local_tables.real_topic import RealTopic
from tests.support.partition_faults.histories import ReadMade, decode_line, read_histories
from tests.support.partition_faults.history_check import judge
from tests.support.partition_faults.instances import (
    PARTITIONS,
    SETTLED_S,
    RecordedInstance,
    settled,
)
from tests.support.partition_faults.reading import GET, GET_MANY, SCAN
from tests.support.shared_tables.peer_pair import SECRET

log = logging.getLogger(__name__)

READS = int(os.environ.get("LASTWORD_TEST_ROUTED_READS", "1000000"))
READING = {"threads": 8, "every_s": 0.0, "kinds": {GET: 4, GET_MANY: 1, SCAN: 1}}
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
            "reading": READING,
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
    def plans(self) -> list[Plan]:
        """Every plan so far."""
        records = RealTopic(self._connection, control_topic(self._topic)).log()
        return [decode_plan(each.value or b"") for each in records if each.key == PLAN_KEY]

    def a_fourth_comes_and_goes(self, number: int) -> None:
        """Only its share moves to it; it is drained before it leaves."""
        before = self.plans[-1]
        fourth = self._start(f"d{number}")
        self.histories.add(fourth.history)
        self.wait_until_settled([*self.members, fourth])
        moved = moves_between(before, self.plans[-1])
        assert {each.target for each in moved} <= {fourth.name}
        assert len(moved) <= -(-PARTITIONS // 4)
        self.members[0].ask(f"drain {fourth.name}")
        wait_until(lambda: not fourth.ask()["owned"], "the fourth to be drained", timeout=SETTLED_S)
        self.wait_until_settled([*self.members, fourth])
        assert fourth.process.leave() == 0
        wait_until(
            lambda: fourth.name not in self.plans[-1].members, "it to be gone", timeout=SETTLED_S
        )
        self.wait_until_settled(self.members)

    def everybody_restarts(self) -> None:
        """One after the other; no owner changes in any plan of that time."""
        before = len(self.plans) - 1
        for member in self.members:
            assert member.process.leave() == 0
            member.start_again()
            self.wait_until_settled(self.members)
        assert not _moves(self.plans[before:])


class RoutedReads:
    """Counts the requests that other instances alone answered, while the histories grow."""

    def __init__(self) -> None:
        self._counted: dict[Path, tuple[int, int]] = {}

    def count(self, histories: Iterable[Path]) -> int:
        """Up to now."""
        for path in histories:
            at, routed = self._counted.get(path, (0, 0))
            with path.open("rb") as file:
                file.seek(at)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # it is being written
                    at += len(line)
                    made = decode_line(line)
                    made.instance = path.stem
                    routed += isinstance(made, ReadMade) and made.routed
            self._counted[path] = at, routed
        return sum(routed for _, routed in self._counted.values())


def _moves(plans: Sequence[Plan]) -> int:
    return sum(len(moves_between(before, after)) for before, after in pairwise(plans))


def _kill(instance: RecordedInstance) -> None:
    instance.process.kill()  # of its last life


def test_routed_reads_are_no_staler_than_they_say_while_owners_change(
    connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    RealTopic(connection, topic_name).create(PARTITIONS, KEPT)
    with Campaign(connection, topic_name, tmp_path) as campaign:
        rounds, routed = 0, RoutedReads()
        while routed.count(campaign.histories) < READS:
            rounds += 1
            campaign.a_fourth_comes_and_goes(rounds)
            campaign.everybody_restarts()
        plans = campaign.plans
        # At the end everybody is killed: a partition may lose its last copy before its reader.
    histories = read_histories(campaign.histories)
    verdict = judge(histories, read_log(connection, topic_name))
    log.warning(
        "%d rounds, %d plans, %d movements of owners, %d writes, %s",
        *(rounds, len(plans), _moves(plans), len(histories.writes), verdict),
    )
    found = verdict.violations
    assert not found, f"{len(found)} violations, the first of them: {found[:5]}"
    failed = verdict.failed
    assert not failed, f"{len(failed)} reads failed, the first of them: {failed[:5]}"
    lost = [each for each in histories.writes if each.status != "ok"]
    assert not lost, f"{len(lost)} writes failed, the first of them: {lost[:5]}"
