"""After a kill at any moment committed snapshots are exact, and the next run continues."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot_catalog import Catalog
from lastword.snapshots.travel.history import History
from tests.support.local_tables.real_topic import RealTopic
from tests.support.on_spark.snapshot_process import SnapshotProcess
from tests.support.on_spark.snapshots import changes_of, history_job, job, rows_of

# `make soak` asks for more; each takes some fifteen seconds, most of it Spark's start.
KILLS = int(os.environ.get("LASTWORD_TEST_KILLS", "3"))
KEYS = 40


def test_a_job_killed_again_and_again_leaves_exact_snapshots_and_each_change_once(
    spark: SparkSession, connection: Connection, topic_name: str, tmp_path: Path, home: Path
) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    # Nothing is cleaned in a topic that is one young segment: its log is the model.
    topic = RealTopic(connection, topic_name).create(partitions=3)
    location = Location(str(tmp_path / "snapshots"), topic.name)
    for _ in range(KILLS):
        change(topic, chance)
        running = SnapshotProcess.start(connection, location, home, "--history")
        try:
            for _ in range(chance.randint(1, 2)):
                running.wait_until_it_writes()
                change(topic, chance)
            with pytest.raises(subprocess.TimeoutExpired):
                running.process.wait(chance.uniform(0.0, 1.0))  # around a commit, at any point
        finally:
            running.kill()
        assert_exact(topic, location, seed)

    before = len(Catalog(location.snapshots).snapshots())
    change(topic, chance)
    job(spark, connection, location).run()
    history_job(spark, connection, location).run()
    assert rows_of(location) == topic.fold()
    assert changes_of(location) == topic.log()
    assert_exact(topic, location, seed)
    assert len(Catalog(location.snapshots).snapshots()) == before + 1


def change(topic: RealTopic, chance: random.Random) -> None:
    """Some puts and deletes."""
    changes = [
        (b"key-%d" % chance.randrange(KEYS), b"%d" % n if chance.random() < 0.7 else None)
        for n in range(chance.randint(1, 30))
    ]
    topic.produce(*changes)


def assert_exact(topic: RealTopic, location: Location, seed: int) -> None:
    """Every visible snapshot equals the state of the log below its position."""
    log = topic.log()
    found = Catalog(location.snapshots).snapshots()
    assert [each.metadata.number for each in found] == list(range(len(found)))[::-1]
    for snapshot in found:
        expected: dict[bytes | None, bytes] = {}
        for record in log:
            if record.offset >= snapshot.metadata.offsets[record.partition]:
                continue
            if record.value is None:
                expected.pop(record.key, None)
            else:
                expected[record.key] = record.value
        rows = rows_of(location, snapshot.delta_version)
        assert rows == expected, f"snapshot {snapshot.metadata.number} with the seed {seed}"
    commits = History(location.history).commits()
    if commits:
        ends = commits[0].metadata.offsets
        kept = [record for record in log if record.offset < ends[record.partition]]
        assert changes_of(location) == kept, f"with the seed {seed}"
