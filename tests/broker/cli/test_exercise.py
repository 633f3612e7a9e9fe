"""A compacted topic as a state store, from an empty topic to a rebuilt table, by the command line.

The settings and the records are those of a well-known exercise. Kafka closes a segment when a
record arrives whose timestamp is more than ``segment.ms`` after the segment's first, so the
first records are written with timestamps of a minute ago, and nobody has to wait.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.connection import Connection
from lastword.table.table import Table
from lastword.testing import wait_until

if TYPE_CHECKING:
    from tests.broker.cli.conftest import Lastword

SETTINGS = (
    *("--config", "cleanup.policy=compact"),
    *("--config", "min.cleanable.dirty.ratio=0.01"),
    *("--config", "segment.ms=10000"),
    *("--config", "delete.retention.ms=100"),
)
MINUTE_MS = 60_000


def profile(number: int, version: int = 1) -> str:
    """One line as the console producer takes it."""
    value = {"userId": f"user-{number}", "name": f"User {number}", "version": version}
    return f"user-{number}:{json.dumps(value)}\n"


class Exercise:
    """One topic and what is asked of it again and again."""

    def __init__(self, lastword: Lastword, topic: str) -> None:
        self.lastword = lastword
        self.topic = topic
        self._later_ms = 0

    def put(self, lines: str, *, minutes_ago: int = 0) -> None:
        stamp = SYSTEM_CLOCK.now_ms() - minutes_ago * MINUTE_MS
        options = ("--timestamp", str(stamp), "--null-marker", "NULL")
        self.lastword.ok("put", self.topic, *options, stdin=lines)

    def put_later(self, line: str) -> None:
        """As if the last one had been half a minute ago, so that a segment is closed."""
        self._later_ms += MINUTE_MS // 2
        stamp = SYSTEM_CLOCK.now_ms() + self._later_ms
        self.lastword.ok("put", self.topic, "--timestamp", str(stamp), stdin=line)

    def log(self) -> list[dict[str, Any]]:
        return self.lastword.json("log", self.topic)

    def versions(self, key: str) -> list[int]:
        return [record["value"]["version"] for record in self.log() if record["key"] == key]


def test_profiles_are_written_compacted_followed_deleted_and_rebuilt(
    lastword: Lastword, connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    exercise = Exercise(lastword, topic_name)
    lastword.ok("topic", "create", topic_name, "--partitions", "3", *SETTINGS)
    described = lastword.json("topic", "describe", topic_name)[0]
    assert {each["setting"]: each["value"] for each in described["settings"]} == {
        "cleanup.policy": "compact",
        "delete.retention.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "10000",
        "unclean.leader.election.enable": "false",
    }

    exercise.put("".join(profile(number) for number in range(1, 6)), minutes_ago=1)
    assert len(exercise.log()) == 5
    exercise.put(profile(1, 2) + profile(2, 2) + profile(1, 3), minutes_ago=1)
    assert len(exercise.log()) == 8, "nothing is compacted while the segment is active"

    exercise.put("".join(profile(number) for number in range(6, 11)))
    compacted = wait_until(
        lambda: log if len(log := exercise.log()) == 10 else None, "10 records after compaction"
    )
    assert sorted(record["key"] for record in compacted) == sorted(
        f"user-{number}" for number in range(1, 11)
    )
    assert exercise.versions("user-1") == [3]
    assert exercise.versions("user-2") == [2]

    state_dir = tmp_path / "home" / "state"
    table = Table(topic_name, connection=connection, store="rocksdb", state_dir=state_dir)
    with table:
        follow_live(exercise, table)
    rebuild(exercise, connection, state_dir)
    look_at_partitions(exercise)


def follow_live(exercise: Exercise, table: Table) -> None:
    """A running table sees an update and a tombstone; then the tombstone leaves the log."""
    exercise.put(profile(1, 4))
    wait_until(lambda: table["user-1"]["version"] == 4, "the update is in the running table")
    exercise.put("user-5:NULL\n")
    wait_until(lambda: "user-5" not in table, "the deleted user is gone from the running table")
    assert exercise.lastword("get", exercise.topic, "user-5").exit_code == 1
    assert exercise.lastword.json("count", exercise.topic)[0]["count"] == 9

    def tombstone_gone() -> bool:
        # user-4 shares the partition: each of its updates lets the segment before be cleaned.
        exercise.put_later(profile(4, 2))
        return not any(record["key"] == "user-5" for record in exercise.log())

    wait_until(tombstone_gone, "the cleaner removed the tombstone", timeout=180)
    assert "user-5" not in table


def rebuild(exercise: Exercise, connection: Connection, state_dir: Path) -> None:
    """The local state is lost, and nothing with it."""
    states = exercise.lastword.json("state")
    assert sum(each["keys"] for each in states) == 9
    assert all(each["holder"] is None and each["bytes"] > 0 for each in states)
    exercise.lastword.ok("wipe", exercise.topic, "--yes")
    assert exercise.lastword.json("state") == []
    with Table(
        exercise.topic, connection=connection, store="rocksdb", state_dir=state_dir
    ) as rebuilt:
        assert len(rebuilt) == 9
        assert rebuilt["user-1"]["version"] == 4


def look_at_partitions(exercise: Exercise) -> None:
    """Sizes differ between partitions, and a key is where it is said to be."""
    sizes = exercise.lastword.json("topic", "compaction", exercise.topic, "--fast")
    assert [each["partition"] for each in sizes] == [0, 1, 2]
    assert len({each["size_bytes"] for each in sizes}) == 3
    for name in "abc":
        exercise.put(f'test-{name}:{{"name": "Test {name}"}}\n')
    keys = ("test-a", "test-b", "test-c")
    told = exercise.lastword.json("topic", "partition", exercise.topic, *keys)
    found = {record["key"]: record["partition"] for record in exercise.log()}
    assert {each["key"]: each["partition"] for each in told} == {key: found[key] for key in keys}
