"""Owners and holders of locks that are frozen or killed, on a real broker, in real processes."""

from __future__ import annotations

import os

import pytest

from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from tests.support.shared_tables.owned_process import OwnedProcess, OwnedProcesses, StartInstances

pytestmark = pytest.mark.broker

LOCK_TTL = "2s"
PATIENT_S = 180.0
ZOMBIES = int(os.environ.get("LASTWORD_TEST_ZOMBIES", "1"))
READS = 3


@pytest.fixture(scope="module")
def all_instances(start_instances: StartInstances) -> OwnedProcesses:
    """Three at first, so that two tests can kill one each and nobody waits for another to start."""
    instances = start_instances(1)
    instances.ensure(3)
    return instances


@pytest.fixture
def instances(all_instances: OwnedProcesses) -> OwnedProcesses:
    """At least two that live."""
    all_instances.ensure(2)
    return all_instances


def owner_and_another(instances: OwnedProcesses) -> tuple[OwnedProcess, OwnedProcess]:
    """The owner of the one partition, and an instance that is not."""

    def owner() -> OwnedProcess | None:
        return next((each for each in instances.live if each.call("owned")), None)

    found = wait_until(owner, "somebody owns the partition")
    assert found is not None
    return found, next(each for each in instances.live if each is not found)


def test_a_woken_owner_neither_writes_nor_answers_a_linearizable_read(
    instances: OwnedProcesses, connection: Connection
) -> None:
    for number in range(ZOMBIES):
        old, new = owner_and_another(instances)
        before = old.call("put", "key", f"old-{number}")["version"]
        old.freeze()
        after = f"new-{number}"
        wait_until(lambda: "version" in new.call("put", "key", after), "the successor writes")  # noqa: B023
        # It was asleep: it still believes to be the owner when it gets these.
        reads = [old.send("get", "key", consistency="linearizable") for _ in range(READS)]
        write = old.send("put", "key", "zombie", if_version=before)
        old.go_on()
        assert [old.answer(each) for each in reads] == [after] * READS
        assert old.answer(write)["error"] == "ConflictError"
        values = [r.value for r in read_log(connection, instances.topic) if r.key == b"key"]
        assert b'"zombie"' not in values
        assert values[-1] == f'"{after}"'.encode()


def test_a_killed_owners_partition_is_written_again_by_another(instances: OwnedProcesses) -> None:
    old, new = owner_and_another(instances)
    before = old.call("increment", "n")
    old.kill()
    assert new.call("increment", "n")["value"] == before["value"] + 1


def test_a_lock_goes_to_the_next_when_its_holder_dies_and_its_token_grows(
    instances: OwnedProcesses,
) -> None:
    one, two = instances.live[:2]
    first = one.call("take", "job", ttl=LOCK_TTL)
    held = two.call("take", "job", ttl=LOCK_TTL, wait=0)
    assert held["error"] == "LeaseHeldError"
    one.kill()
    second = two.call("take", "job", ttl=LOCK_TTL, wait="5m")
    assert second > first
    assert two.call("held", "job")


def test_an_election_has_one_leader_of_several_processes(instances: OwnedProcesses) -> None:
    both = instances.live[:2]
    for each in both:
        each.call("stand", "leader", ttl=LOCK_TTL)

    def leading() -> list[OwnedProcess]:
        return [each for each in both if each.call("token") is not None]

    (leader,) = wait_until(leading, "a leader", timeout=PATIENT_S)
    (other,) = [each for each in both if each is not leader]
    first = leader.call("token")
    leader.freeze()
    second = wait_until(lambda: other.call("token"), "the next leader", timeout=PATIENT_S)
    leader.go_on()
    wait_until(
        lambda: leader.call("events") == [first, None],
        "the woken one to hear that it is deposed",
        timeout=PATIENT_S,
    )
    assert second > first
    assert leading() == [other]
    other.call("resign")
    assert other.call("events") == [second, None]
    third = wait_until(lambda: leader.call("token"), "the first leads again", timeout=PATIENT_S)
    assert third > second
    leader.call("resign")
