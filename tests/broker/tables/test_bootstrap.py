"""A table that starts from a snapshot equals the whole log, or reads the log instead."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RAW, RealTopic
from tests.support.local_tables.tables import Tables, write_raw
from tests.support.on_spark.snapshots import take_without_spark


@pytest.fixture
def topic(connection: Connection, topic_name: str) -> RealTopic:
    return RealTopic(connection, topic_name).create(partitions=2)


@pytest.fixture
def location(topic: RealTopic, tmp_path: Path) -> Location:
    return Location(str(tmp_path / "snapshots"), topic.name)


def test_a_snapshot_and_the_tail_give_the_rows_of_the_whole_log(
    connection: Connection, topic: RealTopic, location: Location, tables: Tables, store: str
) -> None:
    """With headers, changes and deletes since; the log below the position is not read."""
    topic.produce(*((b"key-%d" % n, b"%d" % n) for n in range(500)))
    write_raw(connection, topic.name, [(b"noted", b"1")], headers=(("by", b"me"), ("at", None)))
    metadata = take_without_spark(connection, location)
    topic.produce((b"key-1", None), (b"key-2", b"changed"), (b"new", b"born"))

    from_log = tables.open(topic.name, **RAW, store=store, name="from-log")
    table = tables.open(topic.name, **RAW, store=store, snapshots=location.root, name="from-both")
    assert [progress.start for progress in table.progress()] == list(metadata.offsets.values())
    assert list(table.query.scan()) == list(from_log.query.scan())
    assert (table.get(b"key-1"), table.get(b"key-2")) == (None, b"changed")
    headers = table.entry(b"noted")
    assert headers is not None and headers.headers == (("by", b"me"), ("at", None))
    table.put(b"key-3", b"written")
    assert table.position().at_least(from_log.position())


def test_a_snapshot_older_than_tombstones_revives_no_deleted_key(
    connection: Connection,
    topic_name: str,
    tmp_path: Path,
    tables: Tables,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = EAGER_COMPACTION | {"delete.retention.ms": "100"}
    topic = RealTopic(connection, topic_name).create(settings=settings)
    location = Location(str(tmp_path / "snapshots"), topic_name)
    topic.produce((b"kept", b"1"), (b"doomed", b"1"))
    take_without_spark(connection, location)
    topic.produce((b"doomed", None))
    topic.compact_away(b"doomed")
    caplog.set_level(logging.INFO)
    table = tables.open(topic_name, **RAW, snapshots=location.root)
    assert (table.get(b"kept"), table.get(b"doomed")) == (b"1", None)
    assert "is not used" in caplog.text and "delete.retention.ms" in caplog.text


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        ({"topic_id": "another"}, "created again"),
        ({"cluster_id": "another"}, "another cluster"),
        ({"offsets": {0: 10**6, 1: 0}}, "without its 1000000"),
        ({"read_since_ms": 0}, "took longer"),
    ],
)
def test_a_snapshot_of_something_else_is_not_used(
    *,
    connection: Connection,
    topic: RealTopic,
    location: Location,
    tables: Tables,
    lie: dict[str, object],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic.produce((b"a", b"1"))
    take_without_spark(connection, location, **lie)
    caplog.set_level(logging.INFO)
    table = tables.open(topic.name, **RAW, snapshots=location.root)
    assert [progress.start for progress in table.progress()] == [0, 0]
    assert table.get(b"a") == b"1"
    assert reason in caplog.text


def test_a_damaged_snapshot_is_skipped_for_an_older_one_and_then_for_the_log(
    *,
    connection: Connection,
    topic: RealTopic,
    location: Location,
    tables: Tables,
    store: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Files cut short or deleted; what was read of them before that is not kept."""
    topic.produce(*((b"key-%d" % n, b"%d" % n) for n in range(100)))
    older = take_without_spark(connection, location)
    files = set(Path(location.snapshots).rglob("*.parquet"))
    topic.produce((b"key-7", None))
    take_without_spark(connection, location, number=1)
    for newer in set(Path(location.snapshots).rglob("*.parquet")) - files:
        newer.write_bytes(newer.read_bytes()[:100])
    table = tables.open(topic.name, **RAW, store=store, snapshots=location.root, name="older")
    assert [progress.start for progress in table.progress()] == list(older.offsets.values())
    assert "is not filled from snapshot 1" in caplog.text
    assert (len(table), table.get(b"key-7")) == (99, None)

    for each in files:
        each.unlink()
    table = tables.open(topic.name, **RAW, store=store, snapshots=location.root, name="log")
    assert [progress.start for progress in table.progress()] == [0, 0]
    assert len(table) == 99


def test_a_fill_that_was_cut_short_is_started_over(
    connection: Connection, topic: RealTopic, location: Location, tables: Tables
) -> None:
    """What a killed process leaves behind: rows, and no checkpoint that anybody understands."""
    topic.produce(*((b"key-%d" % n, b"%d" % n) for n in range(100)))
    table = tables.open(topic.name, **RAW, store="rocksdb")
    follower = table._lifecycle.parts.replicas.at(0).follower
    follower.store.apply({b"from a broken snapshot": b"row"}, (), b"being filled")
    follower._written_caught_up_ms = follower.soundness.caught_up_at_ms  # no more is written
    table.close()
    again = tables.open(topic.name, **RAW, store="rocksdb")
    assert (len(again), again.get(b"from a broken snapshot")) == (100, None)


def test_tables_that_need_more_than_rows_start_from_the_log(
    connection: Connection, topic: RealTopic, location: Location, tables: Tables
) -> None:
    topic.produce((b"a", b"1"))
    take_without_spark(connection, location)
    table = tables.open(topic.name, **RAW, snapshots=location.root, on_bad="quarantine")
    assert [progress.start for progress in table.progress()] == [0, 0]


def test_starting_from_a_snapshot_loads_no_more_than_it_needs(
    connection: Connection, topic: RealTopic, location: Location
) -> None:
    """Half a second of imports is half a million rows."""
    topic.produce((b"a", b"1"), (b"b", b"1"))
    take_without_spark(connection, location)
    script = f"""
import sys
from lastword import Table
servers, root = {connection.bootstrap_servers!r}, {location.root!r}
options = {{"value": "bytes", "bootstrap_servers": servers, "snapshots": root}}
with Table({topic.name!r}, **options) as table:
    assert [each.start for each in table.progress()] != [0, 0]
    assert sorted(table) == ["a", "b"]
print(sorted({{"pandas", "pyarrow.dataset", "pyspark"}} & set(sys.modules)))
"""
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=180
    )
    assert answer.stdout == "[]\n"
