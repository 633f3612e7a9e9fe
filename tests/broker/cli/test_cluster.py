"""The instances of an application, seen and drained from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.cluster.peers import PeerSettings
from lastword.testing import wait_until
from tests.broker.cli.conftest import Lastword
from tests.support.shared_tables.partitioned_tables import (
    PartitionedTables,
    replicas_of,
    wait_until_settled,
)
from tests.support.shared_tables.peer_pair import SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.kafka.connection import Connection


def test_instances_are_listed_and_drained(
    lastword: Lastword, connection: Connection, topic: str, tmp_path: Path
) -> None:
    lastword.environ["LASTWORD_APPLICATION_ID"] = topic
    lastword.environ["LASTWORD_CLUSTER_SECRET"] = SECRET
    with PartitionedTables(connection, tmp_path / "state", topic) as tables:
        options = {"standbys": 0, "peer": PeerSettings(secret=SECRET)}
        a, b = (tables.begin(name, **options) for name in "ab")
        for table in (a, b):
            table.wait_ready()
        settled = wait_until_settled([a, b], 3, copies=1)
        rows = {row["instance"]: row for row in lastword.json("cluster", "status")}
        assert {name: row["owns"] for name, row in rows.items()} == {
            name: settled.owners[topic].count(name) for name in "ab"
        }
        assert {row["state"] for row in rows.values()} == {"present"}
        partitions = lastword.json("cluster", "plan")
        assert [row["owner"] for row in partitions] == settled.owners[topic]
        shown = lastword.ok("cluster", "plan").splitlines()[1].split()
        assert shown[:3] == [topic, "0", settled.owners[topic][0]]
        assert lastword.json("cluster", "rebalance", "--dry-run") == []
        assert lastword("cluster", "rebalance").exit_code == 2
        told = lastword.json("cluster", "drain", "b", "--wait")
        assert told[0] == {"instance": "b", "draining": True}
        assert told[-1] == {"instance": "b", "owns": 0, "standby_of": 0}
        drained = {row["instance"]: row for row in lastword.json("cluster", "status")}
        assert (drained["b"]["state"], drained["b"]["owns"]) == ("draining", 0)
        wait_until(lambda: not replicas_of(b).held, "b keeps nothing")
        late = lastword("cluster", "drain", "a", "--wait", "--timeout", "1s")
        assert (late.exit_code, "a is not drained yet" in late.stderr) == (3, True)
        assert lastword("cluster", "drain", "b", "--undo", "--wait").exit_code == 2
        lastword.ok("cluster", "drain", "b", "--undo")
        wait_until(lambda: replicas_of(b).held, "b keeps its share again")
        assert "there is no instance 'c'" in lastword("cluster", "drain", "c").stderr


@pytest.mark.parametrize("command", [("status",), ("plan",), ("rebalance", "--dry-run")])
def test_an_application_without_a_plan_has_nothing_to_show(
    lastword: Lastword, command: tuple[str, ...], topic: str
) -> None:
    lastword.environ["LASTWORD_APPLICATION_ID"] = topic
    answer = lastword("cluster", *command)
    assert answer.exit_code == 1
    assert "has shared partitions yet" in answer.stderr
