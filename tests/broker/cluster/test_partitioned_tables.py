"""Instances share the partitions of a table, and any of them answers for any key."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    ConfigError,
    PartitionNotHereError,
    TooStaleError,
    WatchLostError,
)
from lastword.kafka.connection import Connection
from lastword.replicas.replica import Replica
from lastword.stores.base import StoreScan
from lastword.table.entry import Change, raw_entry
from lastword.table.partitioned.fresh_as_of import FreshAsOf
from lastword.table.partitioned.messages import ReadQuestion, ReadReply
from lastword.table.partitioned.read_server import ReadServer, _Page
from lastword.table.partitioned.routing import Routing
from lastword.table.table import Table
from lastword.table.watch import Watch
from lastword.testing import wait_until
from tests.support.coroutines import run_coroutine
from tests.support.local_tables.real_topic import RealTopic
from tests.support.shared_tables.partitioned_tables import (
    PartitionedTables,
    fresh_of,
    held,
    plan_of,
    wait_until_settled,
)

pytestmark = pytest.mark.broker

PARTITIONS = 4
ROWS = {f"key-{number:03}": number for number in range(60)}


@pytest.fixture(scope="module")
def shared(
    connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PartitionedTables]:
    """Three instances with one standby for each partition, and some rows."""
    topic = RealTopic(connection, "partitioned-reads").create(partitions=PARTITIONS)
    with PartitionedTables(connection, tmp_path_factory.mktemp("state"), topic.name) as tables:
        for name in "abc":
            tables.begin(name, writes="owned")
        for table in tables.instances.values():
            table.wait_ready()
        tables.instances["a"].put_many(ROWS)
        wait_until_settled(tables.instances.values(), PARTITIONS, copies=2)
        yield tables


def taken(watch: Watch, count: int) -> list[Change]:
    found: list[Change] = []

    def enough() -> bool:
        change = watch.take(0.1)
        if change is not None:
            found.append(change)
        return len(found) >= count

    wait_until(enough, f"{count} changes", every=0.0)
    return found


@pytest.fixture(params="abc")
def table(shared: PartitionedTables, request: pytest.FixtureRequest) -> Table:
    return shared.instances[str(request.param)]


def test_each_partition_is_kept_by_its_owner_and_one_standby(shared: PartitionedTables) -> None:
    plan = plan_of(shared.instances["a"])
    assert plan is not None
    kept = [held(table) for table in shared.instances.values()]
    assert sorted(p for each in kept for p in each) == sorted([*range(PARTITIONS)] * 2)
    assert max(map(len, kept)) < PARTITIONS


def test_any_instance_answers_for_any_key(table: Table) -> None:
    assert {key: table[key] for key in ROWS} == ROWS
    assert table.get("nobody") is None
    assert table.get_many([*ROWS, "nobody"]) == ROWS


def test_any_instance_walks_through_all_keys_in_order(table: Table) -> None:
    assert list(table.items()) == sorted(ROWS.items())
    assert list(table.items(reverse=True)) == sorted(ROWS.items(), reverse=True)
    assert dict(table.range("key-010", "key-020")) == {
        key: value for key, value in ROWS.items() if 10 <= value < 20
    }
    assert dict(table.prefix("key-05")) == {k: v for k, v in ROWS.items() if 50 <= v < 60}
    assert len(table) == len(ROWS)


def test_a_walk_continues_over_several_pages(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastword.table.partitioned.routed_table.PAGE_ROWS", 3)
    assert list(table.items()) == sorted(ROWS.items())
    assert list(table.items(reverse=True)) == sorted(ROWS.items(), reverse=True)


def test_an_answer_names_its_instances_and_its_staleness(table: Table) -> None:
    plan = plan_of(table)
    assert plan is not None
    for key in ROWS:
        answer = table.query.get(key)
        partition = table.raw.keyspace.partition_of(key.encode())
        owner = plan.owner(table.topic, partition)
        assert owner is not None
        assert answer.answered_by == (owner.instance_id,)
        assert answer.staleness_s is not None
        assert 0 <= answer.staleness_s <= 10
    everything = table.query.count()
    assert everything.answered_by == tuple(sorted(set(plan.owners[table.topic])))
    assert everything.position.offsets.keys() == set(range(PARTITIONS))


def test_without_routing_a_partition_elsewhere_is_refused_with_its_address(table: Table) -> None:
    plan = plan_of(table)
    assert plan is not None
    here = table.query.within(route=False)
    refused = 0
    for key, value in ROWS.items():
        partition = table.raw.keyspace.partition_of(key.encode())
        if partition in held(table):
            entry = here.get(key).value
            assert entry is not None
            assert entry.value == value
            continue
        refused += 1
        with pytest.raises(PartitionNotHereError, match="is owned by") as error:
            here.get(key)
        owner = plan.owner(table.topic, partition)
        assert owner is not None
        assert error.value.address == owner.address
    assert refused > 0


def figure(table: Table, name: str) -> float:
    return sum(each.value for each in table.metrics.samples() if each.name == name)


def test_hops_and_the_age_of_copies_are_counted(shared: PartitionedTables) -> None:
    table = shared.instances["a"]
    elsewhere = next(
        key for key in ROWS if table.raw.keyspace.partition_of(key.encode()) not in held(table)
    )
    before = [figure(table, f"routed_{what}_total") for what in ("reads", "writes")]
    answered = figure(table, "operation_seconds_count")
    table.put(elsewhere, ROWS[elsewhere])
    assert table.query.get(elsewhere).staleness_s is not None
    after = [figure(table, f"routed_{what}_total") for what in ("reads", "writes")]
    assert all(now > then for now, then in zip(after, before, strict=True))
    assert figure(table, "operation_seconds_count") > answered
    wait_until(lambda: 0 < figure(table, "copy_age_seconds") < 60, "an age of the copies here")


def test_a_copy_that_is_too_stale_answers_nobody(shared: PartitionedTables, table: Table) -> None:
    with pytest.raises(TooStaleError):
        table.query.within(max_stale=0).get("key-001", timeout_s=0.5)
    assert sum(figure(each, "too_stale_reads_total") for each in shared.instances.values()) > 0


def test_an_answer_is_as_old_as_the_moment_at_which_its_rows_were_taken(
    shared: PartitionedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shared.instances["a"]
    here = next(iter(held(table)))
    took: list[float] = []
    add_scan = _Page.add_scan

    def slowly(self: _Page, replica: Replica, scan: StoreScan, limit: int) -> None:
        """The copy becomes fresher while its rows are read."""
        began = SYSTEM_CLOCK.monotonic()
        fresh = fresh_of(table)
        wait_until(lambda: fresh.fresh_at(replica) > began, "a fresher copy")
        add_scan(self, replica, scan, limit)
        took.append(SYSTEM_CLOCK.monotonic() - began)

    monkeypatch.setattr(_Page, "add_scan", slowly)
    only_here = table.raw.within(Routing(route=False, max_stale_s=300))
    with only_here.walk((None, None), lambda *row: row, partitions=[here]) as rows:
        assert rows.staleness_s is not None
        assert rows.staleness_s >= took[0]


def test_an_answer_is_as_far_behind_as_where_its_rows_were_taken(
    shared: PartitionedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shared.instances["a"]
    here = next(iter(held(table)))
    key = next(k for k in ROWS if table.raw.keyspace.partition_of(k.encode()) == here)
    add_scan = _Page.add_scan

    def slowly(self: _Page, replica: Replica, scan: StoreScan, limit: int) -> None:
        """The log grows while the rows are read, and the copy follows it."""
        end = table.put(key, ROWS[key]).offset + 1
        fresh = fresh_of(table)
        wait_until(lambda: fresh._ends[here] >= end, "the new end")
        wait_until(lambda: replica.position >= end, "the copy to follow")
        add_scan(self, replica, scan, limit)

    monkeypatch.setattr(_Page, "add_scan", slowly)
    for_any, for_none = (
        table.raw.within(Routing(route=False, max_stale_s=300, max_lag=most)) for most in (1_000, 0)
    )
    for_any.walk((None, None), raw_entry, partitions=[here]).close()
    with pytest.raises(TooStaleError, match="offsets behind"):
        for_none.walk((None, None), raw_entry, partitions=[here])


def test_a_copy_that_is_too_many_offsets_behind_does_not_answer(
    shared: PartitionedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shared.instances["a"]
    partition = table.raw.keyspace.partition_of(b"key-001")
    plan = plan_of(table)
    assert plan is not None
    owner, standby = [each.instance_id for each in plan.copies(table.topic, partition)]
    behind = {fresh_of(shared.instances[owner]): 5}
    monkeypatch.setattr(FreshAsOf, "lag", lambda self, *_: behind.get(self, 0))
    for max_lag, answered_by in ((5, owner), (4, standby)):
        limited = table.query.within(max_lag=max_lag, max_stale="5m")
        assert limited.get("key-001").answered_by == (answered_by,)
        assert limited.value("key-001", None) == ROWS["key-001"]
    behind[fresh_of(shared.instances[standby])] = 5
    with pytest.raises(TooStaleError):
        table.query.within(max_lag=4, max_stale="5m").get("key-001", timeout_s=0.5)


def test_what_one_instance_writes_it_reads_at_once_wherever_the_key_is(table: Table) -> None:
    for number in range(12):
        key = f"own-{number}"
        table.put(key, number)
        assert table[key] == number
        table.delete(key)
        assert key not in table


def test_coroutines_read_and_write_every_key_on_every_instance(
    shared: PartitionedTables, table: Table
) -> None:
    keys = [f"coroutine-{number}" for number in range(8)]  # in several partitions

    async def write_and_read() -> list[int]:
        await asyncio.gather(*(table.aio.put(key, number) for number, key in enumerate(keys)))
        return await asyncio.gather(*map(table.aio.get, keys))

    async def delete_and_read() -> list[int]:
        await asyncio.gather(*map(table.aio.delete, keys))
        return await asyncio.gather(*map(table.aio.get, keys))

    assert run_coroutine(write_and_read()) == list(range(8))
    assert run_coroutine(delete_and_read()) == [None] * 8
    assert run_coroutine(table.aio.get("key-007")) == 7


def test_every_instance_decides_by_the_owner(shared: PartitionedTables) -> None:
    for _ in range(3):
        for table in shared.instances.values():
            table.increment("hits")
    assert [each.get("hits", consistency="linearizable") for each in shared.instances.values()] == [
        9,
        9,
        9,
    ]
    shared.instances["a"].delete("hits")


def test_any_instance_sees_the_changes_of_all_partitions(
    shared: PartitionedTables, table: Table
) -> None:
    writer = shared.instances["b"]
    keys = [f"watched-{number}" for number in range(8)]
    with table.watch() as watch:
        versions = [writer.put(key, key) for key in keys]
        for key in keys:
            writer.delete(key)
        changes = taken(watch, 2 * len(keys))
        assert {c.version for c in changes if not c.deleted} == set(versions)
        by_key = {key: [c.deleted for c in changes if c.key == key] for key in keys}
        assert by_key == {key: [False, True] for key in keys}
        assert not table.get_many(keys), "a read reflects the changes that were seen"
        position = watch.position
    writer.put("watched-later", 1)
    with table.watch(position) as resumed:
        (later,) = taken(resumed, 1)
        assert (later.key, later.value) == ("watched-later", 1)
    writer.delete("watched-later")


def test_a_watch_goes_on_at_another_instance_where_it_stopped(shared: PartitionedTables) -> None:
    a, b = shared.instances["a"], shared.instances["b"]
    with a.watch() as watch:
        a.put_many({f"moved-{number}": number for number in range(20)})
        before = taken(watch, 7)
        position = watch.position
    with b.watch(position) as watch:
        after = taken(watch, 13)
    assert sorted(c.value for c in [*before, *after]) == list(range(20))
    for number in range(20):
        a.delete(f"moved-{number}")


def test_a_watch_ends_with_its_table(
    connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    RealTopic(connection, topic_name).create(partitions=1)
    with PartitionedTables(connection, tmp_path, topic_name) as tables:
        watch = tables.open("a").watch()
        tables.instances["a"].close()
        with pytest.raises(WatchLostError, match="closed"):
            next(watch)
        watch.close()


def test_a_store_that_evicts_cannot_be_shared(shared: PartitionedTables) -> None:
    with pytest.raises(ConfigError, match="cannot be shared"):
        shared.begin("z", store="lru:10")


def test_a_standby_answers_when_the_owner_does_not(
    shared: PartitionedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shared.instances["a"]
    plan = plan_of(table)
    assert plan is not None
    elsewhere = [p for p in range(PARTITIONS) if p not in held(table)]
    key = next(k for k in ROWS if table.raw.keyspace.partition_of(k.encode()) in elsewhere)
    owner = plan.owner(table.topic, table.raw.keyspace.partition_of(key.encode()))
    assert owner is not None
    answer = ReadServer.answer

    def refusing(self: ReadServer, question: ReadQuestion) -> ReadReply:
        if self.instance_id == owner.instance_id:
            raise TooStaleError("not now")
        return answer(self, question)

    monkeypatch.setattr(ReadServer, "answer", refusing)
    found = table.query.get(key)
    assert found.value is not None
    assert found.value.value == ROWS[key]
    assert found.answered_by != (owner.instance_id,)
