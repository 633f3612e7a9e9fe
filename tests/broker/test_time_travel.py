"""A past state is what it was, or it is refused; never something else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError, MomentGoneError
from lastword.kafka.connection import Connection
from lastword.records import Position, Version
from lastword.snapshots.location import Location
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.real_topic import EAGER_COMPACTION, RAW, RealTopic
from tests.support.snapshots import take_without_spark
from tests.support.tables import Tables

State = dict[bytes, bytes]


def test_random_moments_under_hard_compaction_are_exact_or_refused(
    connection: Connection, topic_name: str, tables: Tables
) -> None:
    """The log is protected for two seconds; what is older may be gone, and is not guessed at."""
    settings = EAGER_COMPACTION | {"min.compaction.lag.ms": "2000"}
    topic = RealTopic(connection, topic_name).create(partitions=2, settings=settings)
    dice, state = random.Random(5), State()
    noted: list[tuple[int, Position, State]] = []

    table = tables.open(topic_name, **RAW)
    for _ in range(60):
        for _ in range(3):
            key, value = b"key-%d" % dice.randrange(12), b"%d" % dice.randrange(10**6)
            if dice.random() < 0.3:
                table.delete(key)
                state.pop(key, None)
            else:
                table.put(key, value)
                state[key] = value
        now_ms = SYSTEM_CLOCK.now_ms()
        noted.append((now_ms, table.position(), dict(state)))
        wait_until(lambda at=now_ms: SYSTEM_CLOCK.now_ms() > at + 50, "the next moment")
    ends = table.position()
    logged = {(record.partition, record.offset) for record in topic.log()}
    assert len(logged) < sum(ends.offsets.values()), "nothing was compacted"

    answered = refused = 0
    for at_ms, position, expected in noted[::4] + noted[-4:]:
        for moment in (position, at_ms):
            try:
                found = dict(table.as_of(moment).items())
            except MomentGoneError as error:
                assert "the earliest moment that can is" in str(error)
                refused += 1
            else:
                assert found == expected
                answered += 1
    assert answered and refused


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


def test_without_a_protected_log_only_snapshots_answer(
    connection: Connection, topic_name: str, tables: Tables, tmp_path: Path
) -> None:
    topic = RealTopic(connection, topic_name).create(partitions=2)
    topic.produce((b"a", b"1"), (b"b", b"1"))
    location = Location(str(tmp_path / "snapshots"), topic_name)
    bare = tables.open(topic_name, **RAW, name="bare")
    with pytest.raises(MomentGoneError, match="there is no snapshot"):
        bare.as_of(SYSTEM_CLOCK.now_ms())

    note = take_without_spark(connection, location)
    topic.produce((b"a", None), (b"b", b"2"))
    table: Table = tables.open(topic_name, **RAW, snapshots=location.root)
    for moment in (note.captured_at_ms, Position(note.offsets)):
        assert dict(table.as_of(moment).items()) == {b"a": b"1", b"b": b"1"}
    with pytest.raises(MomentGoneError, match="the earliest moment that can is"):
        table.as_of(note.captured_at_ms + 1)
    with pytest.raises(MomentGoneError):
        table.as_of(note.captured_at_ms - 1)
    with pytest.raises(MomentGoneError):
        table.as_of(Position({0: 0, 1: 0}))

    again = take_without_spark(connection, location, number=1)
    between = table.as_of(SYSTEM_CLOCK.now_ms())  # nothing was written since the last one
    assert between.position == Position(again.offsets)
    assert dict(between.items()) == {b"b": b"2"}
