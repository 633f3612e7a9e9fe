"""A table that holds some partitions of its topic, and gains and loses others while it serves."""

from __future__ import annotations

import threading

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import (
    ConfigError,
    NotReadyError,
    NotUpToPositionError,
    PartitionNotHereError,
    StoreLockedError,
    WatchLostError,
)
from lastword.kafka.connection import Connection
from lastword.kafka.log.source import PositionLost
from lastword.records import Position
from lastword.replicas.state_directory import StateDirectory
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from lastword.writer.read_your_writes import ReadYourWrites
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take
from tests.support.shared_tables.partial_tables import (
    PARTITIONS,
    gain,
    home,
    keys_in,
    open_partial,
    replicas_of,
    rows_held,
)

KEYS = {partition: keys_in(partition, 10) for partition in range(PARTITIONS)}


@pytest.fixture
def topic(connection: Connection, topic_name: str) -> RealTopic:
    topic = RealTopic(connection, topic_name).create(partitions=PARTITIONS)
    topic.produce(*((key, b"old") for keys in KEYS.values() for key in keys))
    return topic


@pytest.fixture(params=["memory", "rocksdb"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def held_in(topic: RealTopic, *partitions: int) -> dict[bytes, bytes]:
    return {key: value for key, value in topic.fold().items() if home(key) in partitions}


def test_only_held_partitions_are_served(topic: RealTopic, tables: Tables, store: str) -> None:
    table = open_partial(tables, topic.name, {0, 2}, store=store, **RAW)
    assert table.get(KEYS[0][0]) == b"old"
    assert set(table.get_many([KEYS[0][1], KEYS[2][1]])) == {KEYS[0][1], KEYS[2][1]}
    assert rows_held(table) == held_in(topic, 0, 2)
    assert list(table.position().offsets) == [0, 2]
    assert [each.partition for each in table.progress()] == [0, 2]
    for read in (table.get, table.query.get):
        with pytest.raises(PartitionNotHereError, match="partition 1 of") as absent:
            read(KEYS[1][0])
        assert (absent.value.partition, absent.value.retriable) == (1, True)
    with pytest.raises(PartitionNotHereError):
        table.get_many([KEYS[0][0], KEYS[1][0]])
    with pytest.raises(PartitionNotHereError):
        table.query.get(KEYS[0][0], at_least=Position({1: 1}))


def test_a_partition_comes_and_another_goes_while_the_rest_is_served(
    topic: RealTopic, tables: Tables, store: str
) -> None:
    states: list[TableState] = []
    table = open_partial(
        tables, topic.name, {0, 2}, store=store, on_state=lambda _, new: states.append(new), **RAW
    )
    with table.watch() as watch:
        topic.produce((KEYS[1][0], b"before it came"))
        gain(table, 1)
        assert table.get(KEYS[1][0]) == b"before it came"
        assert rows_held(table) == held_in(topic, 0, 1, 2)
        for partition in range(PARTITIONS):
            table.put(KEYS[partition][1], b"new")
        seen = {change.key: change.value for change in take(watch, 3)}
        assert seen == {KEYS[partition][1]: b"new" for partition in range(PARTITIONS)}

        scans = {p: each.scan() for p, each in replicas_of(table).held.items()}
        replicas_of(table).lose(0)
        with pytest.raises(WatchLostError, match=r"partition 0 of .* is no longer held"):
            take(watch, 1)
        assert sorted(watch.position.offsets) == [1, 2]
    with pytest.raises(PartitionNotHereError):
        table.get(KEYS[0][1])
    assert table.get(KEYS[2][1]) == b"new"
    assert len(list(scans[1])) == len(list(scans[2])) == 10
    table.put(KEYS[2][2], b"last")
    with table.watch(watch.position) as again:
        assert [change.value for change in take(again, 1)] == [b"last"]
    assert rows_held(table) == held_in(topic, 1, 2)
    wait_until(lambda: states[-1] is TableState.RUNNING, "the listener has heard of it")
    assert TableState.REBALANCING in states


def test_a_scan_of_a_partition_that_leaves_ends_with_an_error(
    topic: RealTopic, tables: Tables, store: str
) -> None:
    topic.produce(*((b"many-%d" % n, b"v" * 100) for n in range(3000)))
    table = open_partial(tables, topic.name, set(range(PARTITIONS)), store=store, **RAW)
    with table.query.scan() as scan:
        next(scan)
        replicas_of(table).lose(0)
        with pytest.raises(PartitionNotHereError, match="partition 0 of"):
            list(scan)


def test_a_wait_for_a_partition_that_leaves_ends_with_an_error(
    topic: RealTopic, tables: Tables
) -> None:
    table = open_partial(tables, topic.name, {0, 1}, **RAW)
    replicas, told = replicas_of(table), threading.Event()

    def wait() -> None:
        with pytest.raises(PartitionNotHereError):
            replicas.wait_for(Position({0: 1_000_000}), 60)
        told.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    replicas.lose(0)
    assert told.wait(180)
    with pytest.raises(PartitionNotHereError):
        replicas.lose(0)
    with pytest.raises(ConfigError, match="has no partition 3"):
        replicas.gain(3)


def test_a_write_whose_partition_leaves_before_it_is_read_back_is_not_written_twice(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_partial(tables, topic.name, {0, 1}, **RAW)
    parts = table._lifecycle.parts
    writer = parts.writers.path
    assert isinstance(writer, ReadYourWrites)
    wait_for = writer._wait_for

    def leave_first(position: Position, timeout_s: float) -> None:
        if 0 in parts.replicas.held:
            parts.replicas.lose(0)
        wait_for(position, timeout_s)

    monkeypatch.setattr(writer, "_wait_for", leave_first)
    gone, here = table.put_many([(KEYS[0][0], b"new"), (KEYS[1][0], b"new")])
    assert isinstance(gone.error, NotUpToPositionError)
    assert gone.version is not None
    assert not gone.error.retriable
    assert here.error is None
    assert table.get(KEYS[1][0]) == b"new"


def test_the_directory_of_a_lost_partition_is_free_and_a_locked_one_is_not_gained(
    topic: RealTopic, tables: Tables
) -> None:
    table = open_partial(tables, topic.name, {0, 1}, store="rocksdb", **RAW)
    other = StateDirectory(tables.state_dir, "lastword", topic.name, SYSTEM_CLOCK)
    with pytest.raises(StoreLockedError):
        other.acquire(0)
    replicas_of(table).lose(0)
    other.acquire(0)
    with pytest.raises(StoreLockedError):
        replicas_of(table).gain(0)
    assert list(replicas_of(table).held) == [1]
    assert table.get(KEYS[1][0]) == b"old"
    other.release(0)
    topic.produce((KEYS[0][0], b"meanwhile"))
    gain(table, 0)
    assert table.get(KEYS[0][0]) == b"meanwhile"
    assert replicas_of(table).at(0).progress().start > 0, "it went on from its checkpoint"


def test_a_partition_that_lost_its_place_leaves_the_others_served(
    topic: RealTopic, tables: Tables, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_partial(tables, topic.name, {0, 1}, store=store, **RAW)
    following = replicas_of(table)._following
    held_up, go_on = threading.Event(), threading.Event()
    prepared = following._starter._prepared

    def prepare_later(*args: object, **options: object) -> object:
        held_up.set()
        assert go_on.wait(180)
        return prepared(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(following._starter, "_prepared", prepare_later)

    def lose_place() -> None:
        following.reader.release(0)
        following.reaction.position_lost(PositionLost(0, "truncated"))

    following.inbox.post(lose_place)
    assert held_up.wait(180)
    assert not replicas_of(table).at(0).ready
    table.raw.put(KEYS[1][0], b"still served")
    assert table.get(KEYS[1][0]) == b"still served"
    assert table.query.get(KEYS[1][1]).value is not None
    assert table.state is TableState.RESTORING
    with pytest.raises(NotReadyError, match=r"partition 0 of .* is being restored"):
        table.get(KEYS[0][0])
    go_on.set()
    table.wait_ready()
    assert rows_held(table) == held_in(topic, 0, 1)
