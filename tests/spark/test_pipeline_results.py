"""Pipelines on real Spark and a real broker end with the table a plain model ends with."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lastword import Table
from lastword.codecs.windowed import WindowedKey
from lastword.errors import PartitionCountError, PipelineError, TopicUnfitError
from lastword.pipelines import BatchReport, Pipeline, hopping, tumbling
from lastword.pipelines.operators.events import Tally
from tests.support.local_tables.tables import read_raw
from tests.support.on_spark.pipelines import NOON_MS, PARTITIONS, Bench, counts_of


def run_once(app: Pipeline, spark: SparkSession) -> Tally:
    """Process the existing records; return the sum of the batches."""
    total = Tally()

    def add(report: BatchReport) -> None:
        for name in Tally.__slots__:
            setattr(total, name, getattr(total, name) + getattr(report.tally, name))

    app.run(spark, once=True, on_batch=add)
    return total


def random_events(count: int, keys: int = 40) -> list[tuple[str | None, Any, int]]:
    chance = random.Random(count)
    return [(f"u{chance.randrange(keys)}", {"n": i}, i) for i in range(count)]


def test_a_count_equals_the_model_and_continues_after_a_restart(
    bench: Bench, spark: SparkSession
) -> None:
    events = random_events(3_000)
    bench.write(events)
    app = bench.pipeline(max_records_per_batch=1_000)
    counts = app.stream(bench.source).group_by_key().count("counts")
    assert run_once(app, spark).records == 3_000
    assert bench.table(counts) == counts_of(events)
    assert run_once(app, spark) == Tally()

    more = [*random_events(500), ("", {}, 1), (None, {}, 2), ("u1", None, 3), ("u1", b"{", 4)]
    bench.write(more)
    again = bench.pipeline()
    again.stream(bench.source).group_by_key().count("counts")
    tally = run_once(again, spark)
    assert bench.table(counts) == counts_of([*events, *more[:-1]])
    assert (tally.keyless, tally.null_values, tally.quarantined) == (1, 1, 1)
    assert (tally.restored, tally.skipped) == (0, 0)
    assert counts.topic is not None
    with Table(counts.topic, connection=bench.connection, value=counts.value) as table:
        # The empty key is one to a pipeline, and none to a table.
        assert {**dict(table.items()), "": 1} == bench.table(counts)


def test_a_checked_out_patient_leaves_state_and_changelog(
    bench: Bench, spark: SparkSession
) -> None:
    def latest_unless_gone(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any] | None:
        return None if new["type"] == "checked-out" else {**old, **new}

    bench.write(
        [
            ("alice", {"type": "checked-in", "room": 1}, 1),
            ("bob", {"type": "checked-in", "room": 2}, 2),
            ("alice", {"type": "pulse", "bpm": 70}, 3),
            ("bob", {"type": "checked-out"}, 4),
            ("carol", {"type": "checked-in"}, 5),
            ("carol", {"no": "type"}, 6),
        ]
    )
    app = bench.pipeline()
    events = app.stream(bench.source)
    patients = events.group_by_key().reduce(latest_unless_gone, "patients")
    uncached = events.group_by_key().count("every-pulse", cache=False)
    local = events.group_by_key().count("not-backed-up", changelog=None)
    run_once(app, spark)
    assert bench.table(patients) == {
        "alice": {"type": "pulse", "room": 1, "bpm": 70},
        "carol": {"type": "checked-in"},
    }
    bench.write([("alice", {"type": "checked-out"}, 7), ("bob", {"type": "checked-in"}, 8)])
    run_once(app, spark)
    assert bench.table(patients) == {
        "bob": {"type": "checked-in"},
        "carol": {"type": "checked-in"},
    }
    assert local.topic is None
    assert uncached.topic is not None
    assert len(read_raw(bench.connection, uncached.topic)) == 8
    quarantine = f"{app.application_id}-quarantine"
    (bad,) = read_raw(bench.connection, quarantine)
    headers = {name: value or b"" for name, value in bad.headers}
    assert (bad.key, bad.value) == (b"carol", b'{"no": "type"}')
    assert headers["lastword-topic"] == bench.source.encode()
    assert headers["lastword-reason"] == b"KeyError: 'type'"


def test_windows_count_what_comes_in_time_and_report_what_comes_late(
    bench: Bench, spark: SparkSession
) -> None:
    def event(at_ms: int) -> tuple[str, dict[str, int], int]:
        return "p", {"at": NOON_MS + at_ms}, 0

    bench.write([event(0), event(59_000), event(64_999), event(59_999)])
    app = bench.pipeline()
    grouped = app.stream(bench.source, timestamp="at").group_by_key()
    tumbled = grouped.windowed_by(tumbling("60s", grace="5s")).count("pulse", retention="6h")
    hopped = grouped.windowed_by(hopping("60s", "30s")).count("overlapping", retention="6h")
    assert run_once(app, spark).late == 1  # of the hopping window that ends at one minute
    bench.write([event(65_000), event(59_998), event(120_000)])
    assert run_once(app, spark).late == 2  # each of them misses the one that began at noon
    assert bench.table(tumbled) == {
        WindowedKey("p", NOON_MS): 3,
        WindowedKey("p", NOON_MS + 60_000): 2,
        WindowedKey("p", NOON_MS + 120_000): 1,
    }
    first = NOON_MS - 30_000
    starts = {key.start_ms - first: count for key, count in bench.table(hopped).items()}
    assert starts == {0: 1, 30_000: 2, 60_000: 5, 90_000: 2, 120_000: 1, 150_000: 1}


def test_a_changed_key_goes_through_a_topic_that_is_emptied(
    bench: Bench, spark: SparkSession
) -> None:
    countries = ["at", "ch", "de", "fr", None]
    events: list[tuple[str | None, Any, int]] = [
        (f"u{i}", {"country": countries[i % 5], "raw": i}, i) for i in range(500)
    ]
    bench.write(events)
    app = bench.pipeline()
    rekeyed = app.stream(bench.source).select_key(lambda key, value: value["country"])
    per_country = rekeyed.group_by_key().count("per-country")
    mapped = rekeyed.map_values(lambda value: {"ids": b"\x00", "n": value["raw"]})
    totals = mapped.group_by_key().sum("n", "totals")
    tally = run_once(app, spark)
    assert tally.keyless == 200
    assert bench.table(per_country) == {"at": 100, "ch": 100, "de": 100, "fr": 100}
    expected = {name: sum(range(i, 500, 5)) for i, name in enumerate(countries) if name}
    assert bench.table(totals) == expected
    passage = f"{app.application_id}-per-country-repartition"
    assert read_raw(bench.connection, passage) == []
    bench.write(events[:10])
    run_once(app, spark)
    assert bench.table(per_country)["at"] == 102


def test_two_topics_are_merged_and_events_written_into_a_table(
    bench: Bench, spark: SparkSession
) -> None:
    other = bench.add_source(f"{bench.source}-other")
    bench.write([("a", {"n": 1}, 10), ("b", {"n": 2}, 30)])
    bench.write([("a", {"n": 3}, 20), ("c", {"n": 4}, 5), ("b", None, 40)], topic=other)
    app = bench.pipeline()
    both = app.stream(bench.source, other)
    latest = both.group_by_key().latest("latest")
    totals = both.group_by_key().sum("n", "totals")
    doubled = both.filter(lambda key, value: key != "c").map_values(lambda value: value["n"] * 2)
    target = f"{bench.source}-doubled"
    bench.admin.create(target, partitions=1, replication=1, settings={"cleanup.policy": "compact"})
    doubled.to_table(target)
    assert run_once(app, spark).quarantined == 1
    assert bench.table(latest) == {"a": {"n": 3}, "c": {"n": 4}}
    assert bench.table(totals) == {"a": 4, "b": 2, "c": 4}
    assert bench.rows(target) == {b"a": b"6", b"b": b"4"}


def test_settings_of_a_changelog_are_altered_and_its_partitions_never(
    bench: Bench, spark: SparkSession
) -> None:
    bench.write([("a", {}, 1)])
    for ratio in (0.3, 0.2):
        app = bench.pipeline()
        grouped = app.stream(bench.source).group_by_key()
        counts = grouped.count("counts", changelog={"min.cleanable.dirty.ratio": ratio})
        run_once(app, spark)
        assert counts.topic is not None
        settings = bench.admin.settings(counts.topic)
        assert settings["min.cleanable.dirty.ratio"] == str(ratio)
        assert settings["cleanup.policy"] == "compact"
    wide = bench.add_source(f"{bench.source}-wide", PARTITIONS + 1)
    app = bench.pipeline()
    app.stream(wide).group_by_key().count("counts")
    with pytest.raises(PartitionCountError, match="has 3 partitions, its source has 4"):
        run_once(app, spark)
    app = bench.pipeline()
    app.stream(wide, bench.source).group_by_key().count("together")
    with pytest.raises(PartitionCountError, match="same number"):
        run_once(app, spark)
    app = bench.pipeline()
    app.stream(bench.source).to_table(wide)
    with pytest.raises(TopicUnfitError, match="not compacted"):
        run_once(app, spark)


def test_a_failing_task_ends_the_run_with_its_reason(bench: Bench, spark: SparkSession) -> None:
    bench.write([("a", {}, 1)])
    app = bench.pipeline()
    app.stream(bench.source).group_by_key().count("counts")
    run_once(app, spark)
    changed = bench.pipeline()
    bench.write([("a", {}, 2)])
    changed.stream(bench.source).group_by_key().count("counts", value="json")
    with pytest.raises(PipelineError, match="DecodeError"):
        run_once(changed, spark)
