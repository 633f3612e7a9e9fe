"""Watching a table: every change from now on, or from a position, deletes included."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastword.errors import DecodeError, WatchLostError
from lastword.kafka.connection import Connection
from lastword.records import Position, Version
from lastword.table.entry import Change
from lastword.table.table import Table
from lastword.table.watch import Watch
from lastword.table.writing.conditions import TOMBSTONE
from tests.support.local_tables.tables import Tables, read_raw, write_raw

WITHIN_S = 60.0
STARTS = st.fixed_dictionaries({p: st.none() | st.floats(0, 1) for p in range(3)})
"""How far into each partition to begin; None is from now on."""


@pytest.fixture
def table(topic: str, tables: Tables, store: str) -> Table:
    return tables.open(topic, store=store)


def take(watch: Watch, count: int) -> list[Change]:
    """The next changes, in the order they come."""
    changes: list[Change] = []
    while len(changes) < count:
        change = watch.take(WITHIN_S)
        assert change is not None, f"only {len(changes)} of {count} changes came: {changes}"
        changes.append(change)
    return changes


def nothing_more(watch: Watch) -> bool:
    return watch.take(0.3) is None


def place_in(table: Table, offsets: dict[int, int]) -> Position:
    """A position that asks for what the log of this very topic has."""
    return Position(offsets, table.position().topic_id)


def test_a_watcher_sees_every_later_write(table: Table) -> None:
    table.put("before", 0)
    with table.watch() as watch:
        put = table.put("a", {"n": 1}, headers=(("trace", b"1"),), timestamp_ms=1_600_000_000_000)
        deleted = table.delete("a")
        first, second = take(watch, 2)
        assert nothing_more(watch)
    assert first == Change(
        key="a",
        value={"n": 1},
        deleted=False,
        version=put,
        timestamp_ms=1_600_000_000_000,
        headers=(("trace", b"1"),),
    )
    assert (second.key, second.value, second.deleted) == ("a", None, True)
    assert (second.version, second.headers) == (deleted, ())


def test_a_change_is_in_the_table_when_the_watcher_gets_it(table: Table) -> None:
    with table.watch() as watch, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(table.put_many, [(f"key-{n}", n) for n in range(200)])
        for change in take(watch, 200):
            assert table[change.key] == change.value
        assert all(outcome.status == "ok" for outcome in writing.result())


def test_null_is_a_value_and_not_a_delete(table: Table) -> None:
    with table.watch() as watch:
        table.put("a", None)
        (change,) = take(watch, 1)
    assert (change.value, change.deleted) == (None, False)


def test_a_delete_of_an_absent_key_is_a_change_too(table: Table) -> None:
    with table.watch() as watch:
        table.delete("never-there")
        (change,) = take(watch, 1)
    assert (change.key, change.deleted) == ("never-there", True)


def test_every_change_of_a_key_is_seen_not_only_the_last(table: Table) -> None:
    with table.watch() as watch:
        table.put_many([("a", 1), ("a", 2), ("a", TOMBSTONE), ("a", 3)])
        seen = [(change.value, change.deleted) for change in take(watch, 4)]
    assert seen == [(1, False), (2, False), (None, True), (3, False)]


def test_a_watcher_sees_what_other_clients_write(
    topic: str, table: Table, connection: Connection
) -> None:
    with table.watch() as watch:
        write_raw(connection, topic, [(b"a", b"1"), (b"a", None)])
        assert [(change.key, change.deleted) for change in take(watch, 2)] == [
            ("a", False),
            ("a", True),
        ]


def test_records_that_are_not_rows_are_not_changes(
    topic: str, table: Table, connection: Connection
) -> None:
    home = table.put("a", 0).partition
    with table.watch() as watch:
        write_raw(connection, topic, [(b"", b"1"), (b"a", b"2")], partition=(home + 1) % 3)
        write_raw(connection, topic, [(b"a", b"3")])
        (change,) = take(watch, 1)
        assert nothing_more(watch)
    assert (change.value, table["a"]) == (3, 3)


def test_watching_from_a_position_begins_with_the_log(table: Table) -> None:
    versions = [table.put("a", n) for n in range(5)]
    start = place_in(table, {versions[0].partition: versions[2].offset})
    with table.watch(start) as watch:
        table.put("a", 5)
        assert [change.value for change in take(watch, 4)] == [2, 3, 4, 5]
        assert nothing_more(watch)


def test_watching_from_the_position_of_an_answer_misses_nothing(table: Table) -> None:
    table.put_many({"a": 1, "b": 2})
    scan = table.items()
    table.put("a", 3)
    table.delete("b")
    known = dict(scan)
    with table.watch(scan.position) as watch:
        for change in take(watch, 2):
            known.pop(change.key) if change.deleted else known.update({change.key: change.value})
    assert known == dict(table.items()) == {"a": 3}


def test_a_watcher_continues_where_another_one_stopped(table: Table) -> None:
    with table.watch() as first:
        table.put_many([(f"key-{n}", n) for n in range(20)])
        seen = take(first, 7)
        place = first.position
    table.put("after", 1)
    with table.watch(place) as second:
        seen += take(second, 14)
        assert nothing_more(second)
    assert len({change.version for change in seen}) == 21


def test_a_position_ahead_of_the_table_is_waited_for(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    version = table.put("a", 0)
    with table.watch(place_in(table, {version.partition: version.offset + 3})) as watch:
        table.put_many([("a", n) for n in range(1, 5)])
        assert [change.value for change in take(watch, 2)] == [3, 4]


def test_a_position_of_an_unknown_partition_is_refused(topic: str, tables: Tables) -> None:
    table = tables.open(topic)
    with pytest.raises(WatchLostError, match="partition 7 does not exist") as refused:
        table.watch(place_in(table, {7: 0}))
    assert refused.value.hint


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(starts=STARTS, records=st.integers(1, 60))
def test_no_change_is_missed_or_seen_twice_wherever_the_watch_begins(
    starts: dict[int, float | None], records: int, table: Table, connection: Connection
) -> None:
    table.put_many([(f"key-{n % 11}", n) for n in range(records)])
    here = table.position().offsets
    start = {p: round(here[p] * part) for p, part in starts.items() if part is not None}
    stop = threading.Event()

    def write_on() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            table.put_many([(f"key-{n % 11}", TOMBSTONE if n % 5 == 0 else n)])

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_on)
        with table.watch(place_in(table, start)) as watch:
            begun = watch.position.offsets
            seen = take(watch, 20)
            stop.set()
            writing.result()
            last = table.put("the end", 0)
            while seen[-1].version != last:
                seen += take(watch, 1)
    assert all(begun[p] == offset for p, offset in start.items())
    log = [Version(record.partition, record.offset) for record in read_raw(connection, table.topic)]
    for partition, offset in begun.items():
        watched = [c.version for c in seen if c.version and c.version.partition == partition]
        assert watched == [v for v in log if v.partition == partition and v.offset >= offset]


def test_two_watchers_see_the_same(table: Table) -> None:
    with table.watch() as one, table.watch() as other:
        table.put_many({f"key-{n}": n for n in range(50)})
        assert take(one, 50) == take(other, 50)


def test_a_closed_watch_ends_and_the_table_forgets_it(table: Table) -> None:
    watch = table.watch()
    table.put("a", 1)
    watch.close()
    watch.close()
    assert list(watch) == []
    assert watch.take(WITHIN_S) is None


def test_closing_a_watch_ends_the_loop_of_another_thread(table: Table) -> None:
    watch = table.watch()
    with ThreadPoolExecutor(1) as pool:
        loop = pool.submit(list, watch)
        table.put("a", 1)
        watch.close()
        assert len(loop.result(WITHIN_S)) <= 1


def test_closing_the_table_ends_its_watches_with_a_reason(table: Table) -> None:
    watch = table.watch()
    table.put("a", 1)
    table.close()
    assert [change.key for change in take(watch, 1)] == ["a"]
    with pytest.raises(WatchLostError, match="the table was closed"):
        next(watch)


def test_a_bad_record_is_reported_to_the_watcher_with_its_place(
    topic: str, tables: Tables, connection: Connection
) -> None:
    table = tables.open(topic)
    with table.watch() as watch:
        write_raw(connection, topic, [(b"a", b"{"), (b"a", b"1")])
        with pytest.raises(DecodeError, match=f"{topic}, partition .*, offset 0: not json"):
            take(watch, 1)
        assert [change.value for change in take(watch, 1)] == [1]


def test_a_skipped_record_is_not_a_change(
    topic: str, tables: Tables, connection: Connection
) -> None:
    table = tables.open(topic, on_bad="skip")
    with table.watch() as watch:
        write_raw(connection, topic, [(b"a", b"{"), (b"a", b"1")])
        assert [change.value for change in take(watch, 1)] == [1]
