"""Owners and holders of locks that are frozen or killed, on a real broker, in real processes."""

from __future__ import annotations

import pytest

from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from tests.support.shared_tables.owned_process import OwnedProcess, OwnedProcesses, StartInstances

pytestmark = pytest.mark.broker

LOCK_TTL = "2s"


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
    old, new = owner_and_another(instances)
    old.call("put", "key", "old")
    old.freeze()
    wait_until(lambda: "version" in new.call("put", "key", "new"), "the successor writes")
    # It was asleep: it still believes to be the owner when it gets these.
    read = old.send("get", "key", consistency="linearizable")
    write = old.send("put", "key", "zombie", if_version="0:0")
    old.go_on()
    assert old.answer(read) == "new"
    assert old.answer(write)["error"] == "ConflictError"
    values = [r.value for r in read_log(connection, instances.topic) if r.key == b"key"]
    assert b'"zombie"' not in values
    assert values[-1] == b'"new"'


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
