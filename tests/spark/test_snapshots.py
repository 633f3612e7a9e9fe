"""The snapshot job on a real Spark: every snapshot equals the state of the log at its position."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from lastword.cli.main import lastword
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import MomentGoneError, SnapshotError
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.pipelines import past_frame
from lastword.records import Position
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot_catalog import Catalog
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.on_spark.snapshots import changes_of, history_job, job, rows_of


@pytest.fixture
def topic(connection: Connection, topic_name: str) -> RealTopic:
    return RealTopic(connection, topic_name).create(partitions=3)


@pytest.fixture
def location(topic: RealTopic, tmp_path: Path) -> Location:
    return Location(str(tmp_path / "snapshots"), topic.name)


def test_full_and_incremental_snapshots_equal_the_state_of_the_log(
    spark: SparkSession, connection: Connection, topic: RealTopic, location: Location
) -> None:
    """Puts, deletes, an aborted transaction, keyless and misplaced records; then changes."""
    everything = [(b"key-%d" % n, b"%d" % n) for n in range(2000)]
    topic.produce(*everything, (b"key-7", None), (b"", b"no key"))
    stray = next(k for k in (b"stray-%d" % n for n in range(9)) if _home(k) != 0)
    topic.produce((stray, b"in the wrong partition"), partition=0)
    topic.begin_transaction((b"key-1", b"never"), name=f"t-{topic.name}").abort_transaction()
    expected = {k: v for k, v in topic.fold().items() if k != stray}

    snapshots = job(spark, connection, location)
    first = snapshots.run()
    assert (first.kind, first.rows, rows_of(location)) == ("full", 1999, expected)
    assert first.snapshot.position.offsets == {p: topic.end(p) for p in range(3)}

    changed = [(b"key-%d" % n, b"new") for n in range(0, 2000, 100)]
    topic.produce(*changed, (b"key-3", None), (b"key-9999", b"born"))
    second = snapshots.run()
    expected = {k: v for k, v in topic.fold().items() if k != stray}
    assert (second.kind, second.records, rows_of(location)) == ("incremental", 22, expected)
    assert second.bytes < first.bytes / 10

    third = snapshots.run()
    assert (third.kind, third.records, rows_of(location)) == ("incremental", 0, expected)
    assert first.snapshot.exact and second.snapshot.exact and third.snapshot.exact
    assert third.snapshot.metadata.captured_at_ms > second.snapshot.metadata.captured_at_ms
    numbers = [each.metadata.number for each in Catalog(location.snapshots).snapshots()]
    assert numbers == [2, 1, 0]
    assert rows_of(location, first.snapshot.delta_version)[b"key-3"] == b"3"


def test_of_two_jobs_that_append_the_same_changes_one_wins(
    spark: SparkSession,
    connection: Connection,
    topic: RealTopic,
    location: Location,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic.produce((b"a", b"1"), (b"b", b"1"))
    late = history_job(spark, connection, location)
    planned = late._plan()
    monkeypatch.setattr(late, "_plan", lambda: planned)
    history_job(spark, connection, location).run()
    with pytest.raises(SnapshotError, match="another job"):
        late.run()
    assert changes_of(location) == topic.log()


def test_the_commands_take_list_and_show_snapshots(
    spark: SparkSession, connection: Connection, topic: RealTopic, location: Location
) -> None:
    """On the session that runs; values are JSON here, and analysts find them as text."""
    topic.produce((b"a", b'{"n": 1}'), (b"b", b'{"n": 2}'), (b"c", b"no JSON: \xff"))
    assert run(connection, location, "create", "--history")["history_records"] == 3
    topic.produce((b"a", b'{"n": 3}'), (b"b", None), (b"d", b"4"))
    second = run(connection, location, "create", "--history")
    assert (second["kind"], second["rows"], second["history_records"]) == ("incremental", 3, 3)
    shown = run(connection, location, "show")
    assert [shown[f"keys_{what}"] for what in ("added", "changed", "removed")] == [1, 1, 1]
    assert shown["history_position"] == shown["position"]
    assert run(connection, location, "list")["number"] == 1
    rows = spark.read.format("delta").load(location.snapshots)
    found = {row.decoded_key: row.decoded_value for row in rows.collect()}
    assert found == {"a": '{"n": 3}', "c": None, "d": "4"}
    assert changes_of(location) == topic.log()
    history = spark.read.format("delta").load(location.history)
    assert [row.date for row in history.select("date").distinct().collect()] == [today()]
    deleted = history.where("value IS NULL").select("decoded_key").collect()
    assert [row.decoded_key for row in deleted] == ["b"]


def test_a_past_table_is_a_frame_that_snapshots_and_history_prove(
    spark: SparkSession, connection: Connection, topic: RealTopic, location: Location
) -> None:
    """Below the snapshot, on it, after it and beyond the history; strays belong to no table."""
    noted: list[tuple[Position, int, Mapping[bytes, bytes]]] = []

    def write(*changes: tuple[bytes, bytes | None]) -> None:
        topic.produce(*changes)
        position = Position({p: topic.end(p) for p in range(3)})
        state = {key: value for key, value in topic.fold().items() if key != b"stray"}
        at_ms = SYSTEM_CLOCK.now_ms()
        noted.append((position, at_ms, state))
        wait_until(lambda: SYSTEM_CLOCK.now_ms() > at_ms, "the next millisecond")

    def frame(moment: Position | int) -> dict[bytes, bytes]:
        rows = past_frame(
            spark,
            topic.name,
            moment,
            connection=connection,
            snapshots=location.root,
            key="bytes",
        ).collect()
        found = {bytes(row.key): bytes(row.value) for row in rows}
        assert len(found) == len(rows)
        return found

    topic.produce((b"stray", b"1"), partition=(_home(b"stray") + 1) % 3)
    write(*((b"key-%d" % n, b"1") for n in range(20)))
    write((b"key-1", None), (b"key-2", b"2"))
    job(spark, connection, location).run()
    write((b"key-2", None), (b"key-3", b"3"), (b"", b"no key"))
    write((b"key-2", b"4"), (b"key-1", b"4"))
    history_job(spark, connection, location).run()
    (_, first_ms, first), (snapshot_at, _, second), (third_at, third_ms, third), _ = noted
    assert frame(first_ms) == first
    assert frame(snapshot_at) == second
    assert frame(third_at) == frame(third_ms) == third
    write((b"key-3", None))
    with pytest.raises(MomentGoneError):
        frame(noted[-1][0])


def today() -> date:
    return datetime.fromtimestamp(SYSTEM_CLOCK.now_ms() / 1000, UTC).date()


def run(connection: Connection, location: Location, command: str, *options: str) -> dict[str, Any]:
    """The first line of JSON that `lastword snapshot COMMAND` prints."""
    arguments = ["snapshot", command, location.topic, "--location", location.root, "--json"]
    arguments += options
    arguments += ["--bootstrap-servers", connection.bootstrap_servers]
    result = CliRunner().invoke(lastword, arguments)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout.splitlines()[0]))


def _home(key: bytes) -> int:
    return Keyspace(3).partition_of(key)
