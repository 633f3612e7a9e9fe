"""Partitions move while the instances of a table come, go, restart and are drained."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from lastword.cluster.plan import Plan
from lastword.errors import NotOwnerError
from lastword.kafka.connection import Connection
from lastword.records import Version
from lastword.snapshots.catalog.location import Location
from lastword.table.queries import Queries
from lastword.table.table import Table
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.on_spark.snapshots import take_without_spark
from tests.support.shared_tables.partitioned_tables import (
    PartitionedTables,
    cluster_of,
    held,
    plan_of,
    replicas_of,
    wait_until_settled,
)

pytestmark = pytest.mark.broker

PARTITIONS = 4
WAIT_S = 180.0
ROWS = {f"key-{number:03}": number for number in range(60)}


def test_a_newcomer_takes_its_share_while_the_others_serve_and_gives_it_back(
    connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    RealTopic(connection, topic_name).create(partitions=PARTITIONS)
    with PartitionedTables(connection, tmp_path, topic_name) as tables:
        heard: list[TableState] = []
        a = tables.open("a", on_state=lambda _, new: heard.append(new))
        a.put_many(ROWS)
        location = Location(str(tmp_path / "snapshots"), topic_name)
        filled_to = take_without_spark(connection, location).offsets
        b = tables.open("b", snapshots=location.root)
        wait_until_settled([a, b], PARTITIONS, copies=2)
        plan = plan_of(a)
        assert plan is not None
        assert set(plan.owners[a.topic]) == {"a", "b"}
        assert dict(b.items()) == ROWS
        # Its new copies are filled from the snapshot, and the log below that is not read.
        assert {each.partition: each.start for each in b.progress()} == filled_to
        b.close()
        wait_until(lambda: set((plan_of(a) or plan).owners[a.topic]) == {"a"}, "a owns all again")
        assert dict(a.items()) == ROWS
        assert heard[:2] == [TableState.RESTORING, TableState.RUNNING]


def has_all_rows(query: Queries) -> bool:
    return query.count().value == len(ROWS)


def owned_by(plan: Plan, table: Table, name: str) -> list[str]:
    owners = plan.owners[table.topic]
    return [k for k in ROWS if owners[table.raw.keyspace.partition_of(k.encode())] == name]


def put_patiently(table: Table, key: str) -> Version:
    """A write waits 30 s for its owner, and a busy machine may need longer to restart one."""
    for _ in range(4):
        try:
            return table.put(key, ROWS[key])
        except NotOwnerError:
            continue
    raise AssertionError("no owner took the write")


def write_while_away(survivor: Table, name: str, keys: list[str], before: Plan) -> Future[Version]:
    """A write to a partition of an instance that restarts; what the plan says of it meanwhile."""
    plan = plan_of(survivor)
    assert plan is not None
    assert plan.members[name].away_until_ms > 0
    thread = ThreadPoolExecutor(1)
    writing = thread.submit(put_patiently, survivor, keys[0])
    thread.shutdown(wait=False)
    if plan.members[name].lends:
        assert set(plan.owners[survivor.topic]) == {cluster_of(survivor).instance_id}
        writing.result(WAIT_S)
    else:
        assert plan.owners == before.owners
        assert not writing.done()
    return writing


def test_restarting_one_instance_after_the_other_moves_nothing_and_fails_no_read(
    connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    """Writes to the partitions of a wait for it; those of b fail over, and come back."""
    RealTopic(connection, topic_name).create(partitions=PARTITIONS)
    common = {"restart_within": "5m", "store": "rocksdb", "writes": "owned"}
    options = {"a": common, "b": common | {"restart_writes": "fail-over"}}
    with PartitionedTables(connection, tmp_path, topic_name) as tables:
        started = {name: tables.begin(name, **options[name]) for name in "ab"}
        for table in started.values():
            table.wait_ready()
        started["a"].put_many(ROWS)
        before = wait_until_settled(started.values(), PARTITIONS, copies=2)
        for name, other in (("a", "b"), ("b", "a")):
            survivor = started[other]
            copies = survivor.query.within(route=False, max_stale="1h")
            wait_until(partial(has_all_rows, copies), f"the standbys of {other} have everything")
            keys = owned_by(before, survivor, name)
            started[name].close()
            for key, value in ROWS.items():
                assert survivor[key] == value
            writing = write_while_away(survivor, name, keys, before)
            started[name] = tables.open(name, **options[name])
            writing.result(2 * WAIT_S)
            wait_until(
                lambda each=survivor: (plan_of(each) or before).owners == before.owners,
                "every partition to be where it was",
                timeout=WAIT_S,
            )
            after = wait_until_settled(started.values(), PARTITIONS, copies=2)
            assert (after.owners, after.standbys) == (before.owners, before.standbys)


def test_an_instance_that_is_drained_keeps_nothing_and_still_answers(
    connection: Connection, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk that began before goes on with the next owners, and repeats and skips nothing."""
    monkeypatch.setattr("lastword.table.partitioned.routed_table.PAGE_ROWS", 3)
    RealTopic(connection, topic_name).create(partitions=PARTITIONS)
    with PartitionedTables(connection, tmp_path, topic_name) as tables:
        started = {name: tables.begin(name, standbys=0) for name in "ab"}
        for table in started.values():
            table.wait_ready()
        started["a"].put_many(ROWS)
        wait_until_settled(started.values(), PARTITIONS, copies=1)
        walks = [table.items() for table in started.values()]
        begun = [[next(walk), next(walk)] for walk in walks]
        cluster_of(started["a"]).drain("b")
        wait_until(lambda: not replicas_of(started["b"]).held, "b keeps nothing")
        for first, rest in zip(begun, walks, strict=True):
            assert [*first, *rest] == sorted(ROWS.items())
        assert dict(started["b"].items()) == ROWS
        cluster_of(started["a"]).drain("b", on=False)
        wait_until(lambda: len(held(started["b"])) == PARTITIONS // 2, "b keeps its share again")
