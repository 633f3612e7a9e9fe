"""Eight instances share the partitions of a table, on a real broker, in real processes."""

from __future__ import annotations

from collections import Counter

import pytest

from lastword.kafka.connection import Connection
from lastword.records import FENCE_KEY
from lastword.testing.read_log import read_log
from tests.support.shared_tables.owned_process import OwnedProcesses, StartInstances

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def eight(start_instances: StartInstances) -> OwnedProcesses:
    """Eight instances of one application."""
    instances = start_instances(3)
    instances.ensure(8)
    return instances


def test_400_increments_of_8_processes_are_exactly_400_each_way(
    eight: OwnedProcesses, connection: Connection
) -> None:
    started = eight.live
    counting = [each.send("repeat", "increment", 50, "by-increment") for each in started]
    updating = [each.send("add_one", "by-update", 50) for each in started]
    for each, first, second in zip(started, counting, updating, strict=True):
        assert (each.answer(first), each.answer(second)) == (50, 50)
    keys = ("by-increment", "by-update")
    values = [started[0].call("get", key, consistency="linearizable") for key in keys]
    assert values == [400, 400]
    log = Counter(r.key for r in read_log(connection, eight.topic) if r.key != FENCE_KEY)
    counted = {key: log[key.encode()] for key in keys}
    assert counted == dict.fromkeys(keys, 400)  # losing attempts left no record


def test_of_concurrent_compare_and_sets_exactly_one_wins(eight: OwnedProcesses) -> None:
    three = eight.live[:3]
    version = "absent"
    for turn in range(20):
        sent = [
            (each, each.send("put", "key", [turn, n], if_version=version))
            for n, each in enumerate(three)
        ]
        answers = [each.answer(number) for each, number in sent]
        won = [n for n, answer in enumerate(answers) if "version" in answer]
        assert len(won) == 1, answers
        version = answers[won[0]]["version"]
        current = {"value": [turn, won[0]], "version": version}
        lost = [answer for n, answer in enumerate(answers) if n not in won]
        assert lost == [{"error": "ConflictError", "current": current}] * 2
