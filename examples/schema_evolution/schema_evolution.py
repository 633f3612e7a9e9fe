"""Schema evolution: three versions of a profile in one compacted topic, read as the newest.

Programs of versions 1, 2 and 3 read and write at the same time. What an old one wrote is upgraded
as the new one reads it: in a table, after compaction, in the typed columns of a snapshot, in the
past, and in a pipeline. Nothing in the topic changes until `rewrite` writes old values again.

Run it with a broker at hand (``make up``):
python examples/schema_evolution/schema_evolution.py [HOST:PORT]
"""

from __future__ import annotations

import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import profile_versions
from profile_versions import Profile, ProfileV1, ProfileV2

import lastword as lw
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.pipelines import Pipeline, past_frame
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.jobs.snapshot_job import SnapshotJob
from lastword.spark.session import session_for
from lastword.table.schemas.held_versions import count_versions, versioned
from lastword.table.schemas.rewriting import rewrite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# New segments all the time, so that the cleaner has something to do.
EAGER = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
ROUNDS = 5
PATIENCE_S = 120

NEWEST = {
    "user-1": Profile("Alice", 25),
    "user-2": Profile("Bob", 30, "bob@example.com"),
    "user-3": Profile("Carol", 35, language="fr"),
}


def main(bootstrap_servers: str, spark: SparkSession | None = None) -> None:
    """Write with three versions, compact, take snapshots, travel back, run a pipeline, rewrite."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    topic = f"example-schema-evolution-{uuid.uuid4().hex[:8]}"
    with lw.Admin(cluster) as admin:
        lw.create_topic(admin, topic, partitions=1)
    with ExitStack() as opened:
        snapshots = opened.enter_context(tempfile.TemporaryDirectory())
        session = spark or opened.enter_context(session_for(topic, delta_at=snapshots))
        session.sparkContext.addPyFile(profile_versions.__file__)  # executors decode, too
        options: dict[str, Any] = {"connection": cluster, "on_bad": "skip"}
        old = opened.enter_context(lw.Table(topic, value=ProfileV1, name="v1", **options))
        middle = opened.enter_context(lw.Table(topic, value=ProfileV2, name="v2", **options))
        new = opened.enter_context(
            lw.Table(topic, connection=cluster, value=Profile, name="v3", snapshots=snapshots)
        )
        write_side_by_side(old, middle, new)

        job = SnapshotJob(session, cluster, Location(snapshots, topic), value=Profile)
        job.run()
        before = new.position()
        old.put("user-3", ProfileV1("Carol", "36"))  # what version 1 does not know is lost
        compact(cluster, new)
        with lw.Table(topic, connection=cluster, value=Profile, name="rebuilt") as rebuilt:
            now = dict(rebuilt.items())
        assert now == {**NEWEST, "user-3": Profile("Carol", 36), "user-4": now["user-4"]}
        print("after compaction:", now["user-3"])

        report = job.run()
        assert (report.rows, report.unfit) == (4, 0)
        look_back(cluster, session, new, snapshots, before)
        run_pipeline(cluster, session, topic, now)
        rewrite_old_values(new, now)


def write_side_by_side(*tables: lw.Table) -> None:
    """Three programs write at the same time, and each reads what its version understands."""
    profiles = (
        ProfileV1("Alice", "25"),
        ProfileV2("Bob", "30", "bob@example.com"),
        NEWEST["user-3"],
    )

    def run(table: lw.Table, user: str, profile: Any) -> None:
        for _ in range(ROUNDS):
            table.put(user, profile)
            assert table[user] == profile
            assert all(isinstance(each, type(profile)) for _, each in table.items())

    with ThreadPoolExecutor() as programs:
        list(programs.map(run, tables, NEWEST, profiles))
    old, middle, new = tables
    wait_until(lambda: dict(new.items()) == NEWEST)
    wait_until(lambda: dict(middle.items()).keys() == {"user-1", "user-2"})
    assert dict(old.items()) == {"user-1": profiles[0]}
    print("read as version 3:", dict(new.items()))


def compact(cluster: lw.Connection, new: lw.Table) -> None:
    """Write until the cleaner has left one record of each of the other users."""
    with lw.Admin(cluster) as admin:
        admin.alter(new.topic, EAGER)
    ages = iter(range(10**6))

    def is_compacted() -> bool:
        end = new.put("user-4", Profile("Dan", next(ages))).offset + 1
        batches = KafkaLog(cluster).read(new.topic, {0: (0, end)})
        left = Counter(key for batch in batches for key in batch.keys)
        return all(left[user.encode()] == 1 for user in NEWEST)

    wait_until(is_compacted)


def look_back(
    cluster: lw.Connection,
    spark: SparkSession,
    new: lw.Table,
    snapshots: str,
    before: lw.Position,
) -> None:
    """The log no longer has the past. A snapshot has it, with typed columns."""
    past = dict(new.as_of(before).items())
    assert past == NEWEST, past
    frame = past_frame(
        spark, new.topic, before, connection=cluster, snapshots=snapshots, value=Profile
    )
    rows = frame.select("decoded_key", "decoded_value.age", "decoded_value.language").collect()
    assert {tuple(row) for row in rows} == {
        (user, profile.age, profile.language) for user, profile in NEWEST.items()
    }
    print("before compaction:", past["user-3"])


def run_pipeline(
    cluster: lw.Connection, spark: SparkSession, topic: str, now: dict[str, Profile]
) -> None:
    """A pipeline sees every record as version 3, whoever wrote it."""
    with tempfile.TemporaryDirectory() as state_dir:
        app = Pipeline(f"{topic}-app", connection=cluster, state_dir=state_dir)
        older = app.stream(topic, value=Profile).map_values(lambda profile: profile.age + 1)
        result = older.group_by_key().latest("next-year")
        app.run(spark, once=True)
    with lw.Table(result.topic, connection=cluster, value=result.value) as table:
        found = dict(table.items())
    assert found == {user: profile.age + 1 for user, profile in now.items()}, found


def rewrite_old_values(new: lw.Table, now: dict[str, Profile]) -> None:
    """Write what old programs wrote as version 3; nobody else writes now."""
    codec = versioned(new.decoder.value)
    held = {each.version.number: each.keys for each in count_versions(new.raw, codec)}
    assert held == {1: 2, 2: 1, 3: 1}, held
    done = rewrite(new.raw, codec, conditional=False)
    print(f"rewritten: {done.written}")
    assert [each.version.number for each in count_versions(new.raw, codec)] == [3]
    assert dict(new.items()) == now


def wait_until(done: Callable[[], bool]) -> None:
    """Look again and again; raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("it has not happened in two minutes")
        time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
