"""A past state is what it was, or it is refused; never something else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError, MomentGoneError
from lastword.kafka.connection import Connection
from lastword.records import Position, Version
from lastword.snapshots.catalog.confirmation import confirm
from lastword.snapshots.catalog.location import Location
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables.random_writes import write_at_random
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.on_spark.snapshots import keep_history_without_spark, take_without_spark

State = dict[bytes, bytes]


class Noted(NamedTuple):
    """What a table was at a time and a position."""

    at_ms: int
    position: Position
    state: State


@pytest.fixture
def location(topic_name: str, tmp_path: Path) -> Location:
    return Location(str(tmp_path / "snapshots"), topic_name)


def live(table: Table, dice: random.Random, rounds: int) -> Iterator[Noted]:
    """Put and delete at random, and say after each round what the table is."""
    state = State()
    keys = [b"key-%d" % n for n in range(12)]
    for _ in range(rounds):
        write_at_random(table, keys, dice, state, times=3)
        now_ms = SYSTEM_CLOCK.now_ms()
        yield Noted(now_ms, table.position(), dict(state))
        wait_until(lambda at=now_ms: SYSTEM_CLOCK.now_ms() > at + 50, "the next moment")


def ask(table: Table, moments: list[Noted]) -> tuple[list[Noted], list[Noted]]:
    """Those that are answered, by their position and by their time, and those that are not."""
    answered, refused = [], []
    for noted in moments:
        for moment in (noted.position, noted.at_ms):
            try:
                found = dict(table.as_of(moment).items())
            except MomentGoneError as error:
                assert "the earliest moment that can be answered is" in str(error)
                refused.append(noted)
            else:
                assert found == noted.state, f"at {moment}"
                answered.append(noted)
    return answered, refused


def was_compacted(topic: RealTopic, ends: Position) -> bool:
    return len(topic.log()) < sum(ends.offsets.values())


def test_random_moments_under_hard_compaction_are_exact_or_refused(
    connection: Connection, topic_name: str, tables: Tables
) -> None:
    """The log is protected for two seconds; what is older may be gone, and is not guessed at."""
    settings = EAGER_COMPACTION | {"min.compaction.lag.ms": "2000"}
    topic = RealTopic(connection, topic_name).create(partitions=2, settings=settings)
    table = tables.open(topic_name, **RAW)
    noted = list(live(table, random.Random(5), 60))
    assert was_compacted(topic, table.position())
    answered, refused = ask(table, noted[::4] + noted[-4:])
    assert answered and refused


def test_random_moments_of_a_log_that_nothing_protects_come_from_snapshots_and_history(
    connection: Connection, topic_name: str, tables: Tables, location: Location
) -> None:
    """Compaction runs all the time; the history is kept from the middle of it on."""
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    tombstones = {"delete.retention.ms": "60000"}
    topic = RealTopic(connection, topic_name).create(2, EAGER_COMPACTION | tombstones)
    table = tables.open(topic_name, **RAW, snapshots=location.root)
    noted = []
    for i, each in enumerate(live(table, dice, 60)):
        noted.append(each)
        if i in (20, 40):
            take_without_spark(connection, location, number=i // 20 - 1)
        if i >= 20 and i % 2 == 0:
            keep_history_without_spark(connection, location)
    assert was_compacted(topic, table.position())
    answered, refused = ask(table, noted[::5] + noted[21::3])
    assert any(each in refused for each in noted[:20]), f"with the seed {seed}"
    assert any(each in answered for each in noted[21:-1]), f"with the seed {seed}"


@pytest.fixture
def protected(connection: Connection, topic_name: str) -> RealTopic:
    """A topic that keeps everything for an hour."""
    settings = {"min.compaction.lag.ms": "3600000"}
    return RealTopic(connection, topic_name).create(partitions=2, settings=settings)


def test_a_version_and_a_position_give_the_state_after_and_before_a_write(
    protected: RealTopic, tables: Tables
) -> None:
    table = tables.open(protected.name)
    table.put("a", 1)
    before = table.position()
    version = table.put("a", 2)
    table.delete("a")
    assert table.as_of(before)["a"] == 1
    past = table.as_of(version)
    assert (past["a"], len(past), "a" in past, list(past)) == (2, 1, True, ["a"])
    other = next(k for k in map(str, range(9)) if table.put(k, 0).partition != version.partition)
    with pytest.raises(ConfigError, match="does not name"):
        past.get(other)
    for never in (Position({0: 10**6}), Version(7, 0), SYSTEM_CLOCK.now_ms() + 60_000):
        with pytest.raises(ConfigError):
            table.as_of(never)


@pytest.fixture
def cleaned(connection: Connection, topic_name: str) -> tuple[RealTopic, int]:
    """A log of one partition that has lost the first value of a key, and the time before that."""
    topic = RealTopic(connection, topic_name).create(settings=EAGER_COMPACTION)
    topic.produce((b"a", b"1"), (b"b", b"1"))
    at_ms = SYSTEM_CLOCK.now_ms()
    wait_until(lambda: SYSTEM_CLOCK.now_ms() > at_ms, "the next millisecond")
    topic.produce((b"a", b"2"))
    topic.compact_until(lambda log: (b"a", b"1") not in [each[2:] for each in log], "a is cleaned")
    return topic, at_ms


def test_a_lag_that_was_raised_after_a_cleaning_proves_nothing(
    cleaned: tuple[RealTopic, int], tables: Tables
) -> None:
    topic, at_ms = cleaned
    topic.alter({"min.compaction.lag.ms": "3600000"})
    table = tables.open(topic.name, **RAW)
    for moment in (at_ms, Position({0: 2})):
        with pytest.raises(MomentGoneError):
            table.as_of(moment)
    since = table.position()
    topic.produce((b"b", b"2"))
    wait_until(lambda: table[b"b"] == b"2", "the write is here")
    # From the first look at the setting on, the log is protected as long as it stays in force.
    assert table.as_of(since)[b"b"] == b"1"


def test_a_cleaned_log_is_answered_for_by_snapshots_and_by_what_follows_them_without_a_gap(
    connection: Connection, cleaned: tuple[RealTopic, int], tables: Tables, location: Location
) -> None:
    topic, at_ms = cleaned
    metadata = take_without_spark(connection, location)
    state = topic.fold()
    topic.alter({"min.compaction.lag.ms": "3600000"})  # so that the rest of the log stays
    table: Table = tables.open(topic.name, **RAW, snapshots=location.root)
    end = topic.end()
    topic.produce((b"a", None), (b"b", b"2"))
    for moment in (metadata.captured_at_ms, Position(metadata.offsets)):
        assert dict(table.as_of(moment).items()) == state
    assert table.as_of(Position({0: end + 1})).get(b"a") is None
    assert table.as_of(Position({0: end + 1}))[b"b"] == b"1"
    assert table.as_of(SYSTEM_CLOCK.now_ms())[b"b"] == b"2"
    for gone in (at_ms, Position({0: 2})):
        with pytest.raises(MomentGoneError, match="the earliest moment that can be answered is"):
            table.as_of(gone)
    for rows in Path(location.snapshots).rglob("*.parquet"):
        rows.unlink()
    # Damaged, it is not used; since it was taken the log has been seen to be protected.
    assert dict(table.as_of(Position(metadata.offsets)).items()) == state


def test_an_unconfirmed_snapshot_is_not_used_for_time_travel(
    connection: Connection, cleaned: tuple[RealTopic, int], tables: Tables, location: Location
) -> None:
    """Written again while it was made, a key may be missing in it."""
    topic, _ = cleaned
    metadata = take_without_spark(connection, location, exact=False)
    state = topic.fold()
    topic.produce((b"a", b"3"))
    table = tables.open(topic.name, **RAW, snapshots=location.root)
    with pytest.raises(MomentGoneError):
        table.as_of(metadata.captured_at_ms)
    confirm(location.snapshots, metadata.run_id)
    assert dict(table.as_of(metadata.captured_at_ms).items()) == state


def test_transaction_markers_do_not_count_as_lost_changes_while_the_log_is_protected(
    connection: Connection, topic_name: str, tables: Tables, location: Location
) -> None:
    settings = {"min.compaction.lag.ms": "3600000"}
    topic = RealTopic(connection, topic_name).create(settings=settings)

    def write(*pairs: tuple[bytes, bytes | None]) -> None:
        topic.begin_transaction(*pairs, name=f"t-{topic_name}").commit_transaction()

    write((b"a", b"1"), (b"b", b"1"))
    take_without_spark(connection, location)
    at_ms = SYSTEM_CLOCK.now_ms()
    wait_until(lambda: SYSTEM_CLOCK.now_ms() > at_ms, "the next millisecond")
    write((b"a", b"2"), (b"b", None))
    end = Position({0: topic.end()})
    keep_history_without_spark(connection, location)
    write((b"b", b"3"))
    table = tables.open(topic_name, **RAW, snapshots=location.root)
    assert dict(table.as_of(at_ms).items()) == {b"a": b"1", b"b": b"1"}
    assert dict(table.as_of(end).items()) == {b"a": b"2"}
    bare = tables.open(topic_name, **RAW, name="bare")
    with pytest.raises(MomentGoneError):  # without the job's looks nothing tells the gaps apart
        bare.as_of(at_ms)


def test_a_topic_that_also_deletes_by_age_is_answered_for_by_snapshots_alone(
    connection: Connection, topic_name: str, tables: Tables, location: Location
) -> None:
    topic = RealTopic(connection, topic_name).create(settings={"cleanup.policy": "compact,delete"})
    topic.produce((b"a", b"1"))
    metadata = take_without_spark(connection, location)
    topic.produce((b"a", b"2"))
    table = tables.open(topic_name, **RAW, snapshots=location.root, allow_expiry=True)
    assert table.as_of(Position(metadata.offsets))[b"a"] == b"1"
    with pytest.raises(MomentGoneError):
        table.as_of(Position({0: 2}))
