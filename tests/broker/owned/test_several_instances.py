"""Several instances share the partitions of a table, on a real broker, in real processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.records import FENCE_KEY
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from tests.support.owned_process import OwnedProcess, OwnedProcesses
from tests.support.tables import Tables

pytestmark = pytest.mark.broker

LOCK_TTL = "2s"


@pytest.fixture
def processes(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[OwnedProcesses]:
    with OwnedProcesses(broker.bootstrap_servers, tmp_path / "state") as started:
        yield started


def owner_among(*processes: OwnedProcess, partition: int = 0) -> OwnedProcess:
    def owner() -> OwnedProcess | None:
        return next((each for each in processes if partition in each.call("owned")), None)

    found = wait_until(owner, "somebody owns the partition")
    assert found is not None
    return found


def test_400_increments_of_8_processes_are_exactly_400_each_way(
    processes: OwnedProcesses, tables: Tables, topic: str
) -> None:
    started = [processes.start(topic, f"instance-{n}") for n in range(8)]
    for each in started:
        each.wait_ready()
    counting = [each.send("repeat", "increment", 50, "by-increment") for each in started]
    updating = [each.send("add_one", "by-update", 50) for each in started]
    for each, first, second in zip(started, counting, updating, strict=True):
        assert (each.answer(first), each.answer(second)) == (50, 50)
    values = [
        started[0].call("get", key, consistency="linearizable")
        for key in ("by-increment", "by-update")
    ]
    assert values == [400, 400]
    log = Counter(r.key for r in read_log(tables.connection, topic) if r.key != FENCE_KEY)
    assert log == {b"by-increment": 400, b"by-update": 400}  # losing attempts left no record


def test_of_concurrent_compare_and_sets_exactly_one_wins(
    processes: OwnedProcesses, one_partition: str
) -> None:
    started = [processes.start(one_partition, f"instance-{n}") for n in range(3)]
    for each in started:
        each.wait_ready()
    version = "absent"
    for turn in range(20):
        sent = [
            (each, each.send("put", "key", [turn, n], if_version=version))
            for n, each in enumerate(started)
        ]
        answers = [each.answer(number) for each, number in sent]
        won = [n for n, answer in enumerate(answers) if "version" in answer]
        assert len(won) == 1, answers
        version = answers[won[0]]["version"]
        current = {"value": [turn, won[0]], "version": version}
        lost = [answer for n, answer in enumerate(answers) if n not in won]
        assert lost == [{"error": "ConflictError", "current": current}] * 2


def test_a_woken_owner_neither_writes_nor_answers_a_linearizable_read(
    processes: OwnedProcesses, tables: Tables, one_partition: str
) -> None:
    one, two = (processes.start(one_partition, name).wait_ready() for name in ("one", "two"))
    old = owner_among(one, two)
    new = two if old is one else one
    old.call("put", "key", "old")
    old.freeze()
    wait_until(lambda: "version" in new.call("put", "key", "new"), "the successor writes")
    # It was asleep: it still believes to be the owner when it gets these.
    read = old.send("get", "key", consistency="linearizable")
    write = old.send("put", "key", "zombie", if_version="0:0")
    old.wake()
    assert old.answer(read) == "new"
    assert old.answer(write)["error"] == "ConflictError"
    values = [r.value for r in read_log(tables.connection, one_partition) if r.key == b"key"]
    assert b'"zombie"' not in values
    assert values[-1] == b'"new"'


def test_a_killed_owners_partition_is_written_again_by_another(
    processes: OwnedProcesses, one_partition: str
) -> None:
    one, two = (processes.start(one_partition, name).wait_ready() for name in ("one", "two"))
    old = owner_among(one, two)
    new = two if old is one else one
    before = old.call("increment", "n")
    old.kill()
    assert new.call("increment", "n")["value"] == before["value"] + 1


def test_a_lock_goes_to_the_next_when_its_holder_dies_and_its_token_grows(
    processes: OwnedProcesses, one_partition: str
) -> None:
    one, two = (processes.start(one_partition, name).wait_ready() for name in ("one", "two"))
    first = one.call("take", "job", ttl=LOCK_TTL)
    held = two.call("take", "job", ttl=LOCK_TTL, wait=0)
    assert held["error"] == "LeaseHeldError"
    one.kill()
    second = two.call("take", "job", ttl=LOCK_TTL, wait="5m")
    assert second > first
    assert two.call("held", "job")
