"""Recomputes a store from its events and compares: checks the promise of event sourcing.

It writes nothing to Kafka. Spark reads the events again up to the committed positions, one task per
partition. Each task folds them into a temporary store and compares it with the changelog at those
positions.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.errors import ConfigError, PipelineError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.groups.names import pipeline_group
from lastword.pipelines.graph.node import SourcePlan, StatefulNode
from lastword.pipelines.graph.offset_metadata import join_metadata
from lastword.pipelines.graph.own_topics import partitions_of
from lastword.pipelines.graph.part import Part, tables_of, topics_of, upstream_of
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.graph.topology import Topology
from lastword.pipelines.run.source_frame import SOURCE_OPTIONS
from lastword.pipelines.task.replay_task import COUNTS_SCHEMA, Counts, ReplayPlan, replay_task
from lastword.pipelines.task.task_input import COLUMNS
from lastword.records import TopicPartition
from lastword.spark.kafka_options import kafka_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Rebuilt:
    """The result of recomputing a store, compared row by row with its changelog.

    ``missing`` rows follow from the events and are not in the changelog; ``extra`` rows are in the
    changelog and do not follow from the events.
    """

    store: str
    events: int
    rows: int
    different: int
    missing: int
    extra: int

    @property
    def equal(self) -> bool:
        """Whether the events alone lead to the changelog's rows."""
        return not (self.different or self.missing or self.extra)


def rebuild(spark: SparkSession, topology: Topology, connection: Connection, store: str) -> Rebuilt:
    """Fold the events of ``store`` again and compare."""
    nodes, source = _part_of(topology, store)
    topic = source.topic
    with Admin(connection) as admin:
        partitions = range(partitions_of(admin, [topic]))
        _check_events(admin.start_offsets(topic, partitions), source)
    groups = Groups(connection)
    try:
        places = [TopicPartition(topic, partition) for partition in partitions]
        committed = groups.committed(pipeline_group(topology.application_id), places)
    finally:
        groups.close()
    ends = {
        p: committed[TopicPartition(topic, p)].offset
        for p in partitions
        if TopicPartition(topic, p) in committed
    }
    task_plan = TaskPlan(
        application_id=topology.application_id,
        connection=connection,
        partitions=len(partitions),
        sources={topic: source},
        nodes=nodes,
        quarantine_topic="",
        state_dir=Path(),
    )
    plan = ReplayPlan(task_plan, store, _changelog_ends(committed, store))
    records = _records(spark, connection, topic, {p: ends.get(p, 0) for p in partitions})
    task = functools.partial(replay_task, plan=plan)
    total = dict.fromkeys((each.name for each in fields(Counts)), 0)
    for row in records.mapInArrow(task, COUNTS_SCHEMA).collect():
        total = {name: count + row[name] for name, count in total.items()}
    return Rebuilt(store, **total)


def _part_of(topology: Topology, store: str) -> tuple[Part, SourcePlan]:
    """The nodes that lead to the store; raises if it does not follow from one topic alone."""
    node = topology.nodes.get(store)
    if not (isinstance(node, StatefulNode) and node.is_result and node.stores[0].changelog):
        raise ConfigError(
            f"{topology.application_id!r} has no store {store!r} with a changelog",
            hint="name a store that was passed to count(), reduce() or aggregate()",
        )
    nodes = tuple(topology.nodes[name] for name in upstream_of(topology.nodes, store))
    sources = [topology.sources[topic] for topic in topics_of(nodes)]
    if len(sources) != 1 or tables_of(nodes) or sources[0].transform is not None:
        raise ConfigError(
            f"{store!r} does not follow from the events of one topic alone",
            hint="the results of joins, transforms and merged topics depend on when they ran",
        )
    return nodes, sources[0]


def _check_events(starts: Mapping[int, int], source: SourcePlan) -> None:
    if any(starts.values()):
        raise PipelineError(
            f"the first events of {source.topic} were deleted, so they cannot be folded again",
            hint="keep events for ever: cleanup.policy=delete with retention.ms=-1",
        )


def _changelog_ends(committed: Mapping[TopicPartition, Committed], store: str) -> dict[int, int]:
    return {
        place.partition: join_metadata([at.metadata]).changelogs.get(store, 0)
        for place, at in committed.items()
    }


def _records(
    spark: SparkSession, connection: Connection, topic: str, ends: Mapping[int, int]
) -> DataFrame:
    reader = spark.read.format("kafka").options(**SOURCE_OPTIONS)
    reader = reader.options(**kafka_options(connection))
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    reader = reader.option("endingOffsets", json.dumps({topic: dict(ends)}))
    reader = reader.option("includeHeaders", "true")
    return reader.load().selectExpr(
        *COLUMNS[:-1], f"unix_millis(timestamp) AS {COLUMNS[-1]}", "headers"
    )
