"""Locks and elections of one process with several threads, on a real broker."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lastword.errors import ConfigError, LeaseHeldError, LeaseLostError
from lastword.table.table import Table
from lastword.table.writing.election import election
from lastword.testing import wait_until
from tests.support.local_tables.tables import Tables

pytestmark = pytest.mark.broker

PATIENT_S = 60.0


@pytest.fixture
def owned(tables: Tables, one_partition: str) -> Table:
    return tables.open(one_partition, writes="owned", application_id=one_partition)


def test_one_thread_at_a_time_holds_a_lock_and_tokens_grow(owned: Table) -> None:
    inside: list[str] = []
    tokens: list[int] = []

    def work(name: str) -> None:
        for _ in range(3):
            with owned.lock("job", wait="10m") as token:
                inside.append(name)
                tokens.append(token)
                assert inside == [name]
                inside.remove(name)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, ["a", "b", "c"]))
    assert len(tokens) == 9
    assert tokens == sorted(set(tokens))


def test_a_thread_takes_a_lock_again_with_the_same_token(owned: Table) -> None:
    with owned.lock("job") as token:
        with owned.lock("job") as again:
            assert again == token
        with ThreadPoolExecutor(1) as pool, pytest.raises(LeaseHeldError) as refused:
            pool.submit(owned.lock("job", wait=0).acquire).result(PATIENT_S)
        assert refused.value.holder
        assert refused.value.retriable
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(owned.lock("job").acquire).result(PATIENT_S) > token


def test_locks_of_other_names_do_not_wait_for_each_other(owned: Table) -> None:
    with owned.lock("one") as one, owned.lock("two") as two:
        assert one != two
    assert len(owned) == 0  # a lock is not among the rows of the table


def test_a_lock_outlives_its_time_because_it_is_renewed(owned: Table) -> None:
    lock = owned.lock("job", ttl="1s")
    with lock as token:
        renewals = owned.lock("clock", ttl="1s")
        first = renewals.acquire()
        renewals.release()
        wait_until(lambda: not renewals.held, "the other is released")
        with ThreadPoolExecutor(1) as pool, pytest.raises(LeaseHeldError):
            pool.submit(owned.lock("job", wait="3s").acquire).result(PATIENT_S)
        assert lock.held
        assert token < first


def test_a_lock_that_is_not_held_cannot_be_released(owned: Table) -> None:
    with pytest.raises(LeaseLostError):
        owned.lock("job").release()
    with pytest.raises(ConfigError):
        owned.lock("job", ttl="10ms")


def test_an_election_has_one_leader_and_the_next_has_a_greater_token(owned: Table) -> None:
    elected: list[int] = []
    deposed = threading.Event()
    first = election("leader", owned, elected.append, on_deposed=deposed.set)
    wait_until(lambda: len(elected) == 1, "the first is elected")
    assert first.token == elected[0]
    with election("leader", owned, elected.append) as second:
        assert second.token is None
        first.close()
        assert deposed.is_set()
        assert first.token is None
        wait_until(lambda: len(elected) == 2, "the second is elected")
    assert elected[1] > elected[0]
