"""Owned writes of one instance, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from lastword.errors import (
    ConfigError,
    ConflictError,
    InvalidRecordError,
    NotUpToPositionError,
)
from lastword.records import ABSENT, Position, Version
from lastword.table.entry import Entry
from lastword.table.table import Table
from lastword.table.writing.conditions import TOMBSTONE
from lastword.table.writing.loop_answers import LoopAnswers
from lastword.testing import wait_until
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import Applied
from tests.support.coroutines import run_coroutine
from tests.support.local_tables.tables import Tables

pytestmark = pytest.mark.broker


@pytest.fixture
def owned(tables: Tables, topic: str) -> Table:
    """A table whose every write is decided by the owner of its partition."""
    return tables.open(topic, writes="owned", application_id=topic)


def test_a_put_is_applied_only_to_the_version_that_is_expected(owned: Table) -> None:
    first = owned.put("a", 1, if_version=ABSENT)
    second = owned.put("a", 2, if_version=first)
    with pytest.raises(ConflictError) as lost:
        owned.put("a", 3, if_version=first)
    assert lost.value.version == second
    current = lost.value.current
    assert isinstance(current, Entry)
    assert (current.key, current.value, current.version) == ("a", 2, second)
    assert owned.get("a") == 2


def test_rows_do_not_show_the_request_id_of_their_owner(owned: Table) -> None:
    version = owned.put("a", 1)
    with pytest.raises(ConflictError) as lost:
        owned.put("a", 2, if_version=ABSENT)  # answered from the owner's memory
    assert isinstance(lost.value.current, Entry)
    assert lost.value.current.headers == ()
    wait_until(lambda: owned.position().at_least(Position.after(version)), "the row in the store")
    entry = owned.entry("a")
    assert entry is not None
    assert (entry.value, entry.headers) == (1, ())


def test_a_put_for_an_absent_key_loses_to_an_existing_one(owned: Table) -> None:
    version = owned.put("a", 1)
    with pytest.raises(ConflictError) as lost:
        owned.put("a", 2, if_version=ABSENT)
    assert lost.value.version == version
    owned.delete("a", if_version=version)
    with pytest.raises(ConflictError) as gone:
        owned.delete("a", if_version=version)
    assert gone.value.current is None
    assert "a" not in owned


def test_a_write_is_answered_before_it_is_applied_and_the_next_read_waits_for_it(
    owned: Table,
) -> None:
    owned.put("a", 1)
    owned.increment("n")  # both partitions are taken over, which needs the copy here
    assert owned.get("a") == 1
    with owned._lifecycle.parts.replicas.one_moment():  # the copy here is held back
        second = owned.put("a", 2)
        assert owned.position().at_least(Position.after(second))
        assert owned.increment("n").value == 2
        for key in ("a", "n"):
            with pytest.raises(NotUpToPositionError):
                owned.query.get(key, timeout_s=0.05)
        stale = owned.query.get("a", allow_stale=True)
        assert stale.value is not None
        assert (stale.value.value, stale.stale) == (1, True)
    assert owned.get("a") == 2
    assert dict(owned.items()) == {"a": 2, "n": 2}


def test_many_puts_are_decided_each_for_itself(owned: Table) -> None:
    version = owned.put("a", 1)
    outcomes = owned.put_many(
        {"a": 2, "b": 2, "c": 2}, if_version={"a": version, "b": Version(0, 12345)}
    )
    assert [outcome.status for outcome in outcomes] == ["ok", "conflict", "ok"]
    assert dict(owned.items()) == {"a": 2, "c": 2}


def test_operations_return_the_entry_that_they_wrote(owned: Table) -> None:
    assert owned.increment("n").value == 1
    entry = owned.increment("n", by=4)
    assert entry.value == 5
    assert owned.put("n", 6, if_version=entry.version) > entry.version
    assert owned.append("list", "x").value == ["x"]
    assert owned.merge("object", {"a": 1, "b": {"c": 2}}).value == {"a": 1, "b": {"c": 2}}
    assert owned.merge("object", {"b": {"c": None, "d": 3}}).value == {"a": 1, "b": {"d": 3}}
    assert owned.put_if_greater("n", 3).value == 6
    assert owned.put_if_greater("n", 30).value == 30
    with pytest.raises(InvalidRecordError, match="numbers"):
        owned.increment("list")
    assert owned["list"] == ["x"]


def test_an_update_computes_from_the_current_value(owned: Table) -> None:
    entry = owned.update("n", lambda n: n + 1, default=10)
    assert entry is not None
    assert (entry.value, owned["n"]) == (11, 11)
    assert owned.update("n", lambda _: TOMBSTONE) is None
    assert "n" not in owned


def test_a_transaction_is_for_keys_of_one_partition(owned: Table) -> None:
    by_partition: dict[int, list[str]] = {}
    for n in range(20):
        by_partition.setdefault(owned.put(f"key-{n}", n).partition, []).append(f"key-{n}")
    together = by_partition[0][:2]
    versions = owned.transact(dict.fromkeys(together, "new"))
    assert [owned[key] for key in together] == ["new", "new"]
    with pytest.raises(ConflictError) as lost:
        owned.transact({together[0]: "newer"}, if_version={together[1]: versions[together[0]]})
    assert lost.value.current.key == together[1]
    assert owned[together[0]] == "new"
    with pytest.raises(ConfigError, match="and these are in 2"):
        owned.transact({by_partition[0][0]: 1, by_partition[1][0]: 1})


def test_a_linearizable_read_is_answered_by_the_owner(owned: Table) -> None:
    assert owned.get("a", "nothing", consistency="linearizable") == "nothing"
    version = owned.put("a", 1)
    entry = owned.entry("a", consistency="linearizable")
    assert entry is not None
    assert (entry.value, entry.version) == (1, version)


def test_a_table_without_owners_says_how_to_get_them(tables: Tables, topic: str) -> None:
    direct = tables.open(topic)
    for call in (
        lambda: direct.increment("a"),
        lambda: direct.get("a", consistency="linearizable"),
        lambda: direct.update("a", str),
    ):
        with pytest.raises(ConfigError) as refused:
            call()
        assert "writes='owned'" in (refused.value.hint or "")
    with pytest.raises(InvalidRecordError) as unchecked:
        direct.put("a", 1, if_version=ABSENT)
    assert "writes='owned'" in (unchecked.value.hint or "")


def test_plain_puts_of_a_conditional_table_go_straight_to_kafka(tables: Tables, topic: str) -> None:
    table = tables.open(topic, writes="conditional", application_id=topic)
    version = table.put("a", 1)
    assert table.put("a", 2, if_version=version).offset > version.offset
    assert table.increment("a").value == 3
    assert [outcome.status for outcome in table.put_many({"a": 1, "b": 1})] == ["ok", "ok"]


def test_one_process_opens_a_topic_for_owned_writes_once(
    owned: Table, tables: Tables, topic: str
) -> None:
    assert owned.state
    with pytest.raises(ConfigError, match="already"):
        tables.open(topic, writes="owned", application_id=topic)


def test_coroutines_are_answered_without_a_thread_each(owned: Table) -> None:
    raw = owned.raw.owned
    assert raw is not None

    async def count() -> tuple[list[Result], int]:
        answers = LoopAnswers(raw)
        wakes = 0
        deliver = answers.deliver

        def counted(results: Sequence[tuple[int, Result]]) -> None:
            nonlocal wakes
            wakes += 1
            deliver(results)

        answers.deliver = counted  # type: ignore[method-assign]
        requests = [raw.request(b"n", "increment", 1) for _ in range(200)]
        return await asyncio.gather(*map(answers.ask, requests)), wakes

    results, wakes = run_coroutine(count())
    assert all(isinstance(result, Applied) for result in results)
    assert owned.get("n", consistency="linearizable") == 200
    assert wakes < 100  # the loop wakes up per batch, not per answer


def test_records_that_did_not_come_through_an_owner_are_counted(
    owned: Table, tables: Tables, topic: str
) -> None:
    owned.put("a", 1)
    owned.increment("a")
    counter = owned.metrics.counter("foreign_records_total")
    assert counter.value == 0
    other = tables.open(topic, application_id=f"{topic}-other")
    other.put("a", 7)
    wait_until(lambda: counter.value == 1, "the stranger's record is counted")
    assert owned["a"] == 7


def test_a_key_of_an_owned_table_expires_and_is_deleted(owned: Table) -> None:
    with owned.watch() as changes:
        owned.put("a", 1, ttl="1s")
        assert next(changes).value == 1
        assert next(changes).deleted
    assert owned.get("a", consistency="linearizable") is None
    assert owned.put("a", 2, if_version=ABSENT)
