"""What a pipeline left in Kafka and on disk before the graph became explicit still holds.

Every text here is as an earlier version wrote it.
"""

from __future__ import annotations

import json
from pathlib import Path

from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed
from lastword.kafka.write.transaction_writer import Output
from lastword.pipelines import Pipeline, tumbling
from lastword.pipelines.graph.part import stores_of, topics_of
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.records import TopicPartition
from tests.support.on_spark.offline_pipeline import OfflinePipeline

COMMITTED = (
    '{"stream_times":{"per-minute":125000},"changelogs":{"per-minute":3,"per-minute-suppress":6}}'
)


def shop() -> Pipeline:
    app = Pipeline("shop", bootstrap_servers="none:1")
    clicks = app.stream("clicks", "views").filter(lambda key, value: value != 0)
    clicks.group_by_key().windowed_by(tumbling("60s")).count("per-minute").suppress()
    clicks.select_key(lambda key, value: str(value)).group_by_key().latest("last")
    clicks.to_table("copy")
    return app


def test_topics_stores_and_transactional_ids_have_the_names_they_had() -> None:
    app = shop()
    assert sorted(app.topics) == [
        "copy",
        "shop-last-changelog",
        "shop-last-repartition",
        "shop-per-minute-changelog",
        "shop-per-minute-final",
        "shop-per-minute-suppress-changelog",
    ]
    parts = app._topology.parts()
    assert [[store.name for store in stores_of(part)] for part in parts] == [
        ["per-minute", "per-minute-suppress"],
        ["last"],
    ]
    plans = [
        TaskPlan(
            application_id="shop",
            connection=Connection(bootstrap_servers="none:1"),
            partitions=1,
            sources={topic: app._topology.sources[topic] for topic in topics_of(part)},
            nodes=part,
            quarantine_topic="shop-quarantine",
            state_dir=Path(),
        )
        for part in parts
    ]
    assert [plan.transactional_id(0) for plan in plans] == [
        "shop:clicks+views:0",
        "shop:shop-last-repartition:0",
    ]


def record(at_ms: int) -> Output:
    return (b"k", b"1", at_ms, ())


def windows() -> tuple[Pipeline, OfflinePipeline]:
    app = Pipeline("shop", bootstrap_servers="none:1")
    grouped = app.stream("clicks").group_by_key().windowed_by(tumbling("60s"))
    grouped.count("per-minute").suppress()
    return app, OfflinePipeline(app)


def test_the_metadata_that_is_committed_has_the_form_it_had() -> None:
    _, run = windows()
    run.run({"clicks": [record(5_000), record(65_000), record(125_000)]}, cuts=[2])
    (position,) = run.committed.values()
    assert position.offset == 3
    assert position.metadata == COMMITTED


def test_a_pipeline_continues_from_the_metadata_of_an_earlier_version() -> None:
    _, run = windows()
    run.committed = {TopicPartition("clicks", 0): Committed(3, COMMITTED)}
    # The first of the two that are left is late by the committed stream time.
    times = (5_000, 65_000, 125_000, 59_000, 130_000)
    run.run({"clicks": [record(at_ms) for at_ms in times]})
    assert (run.tally.records, run.tally.skipped, run.tally.late) == (2, 3, 1)
    (position,) = run.committed.values()
    assert json.loads(position.metadata)["stream_times"] == {"per-minute": 130_000}
