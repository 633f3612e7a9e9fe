"""Runs a pipeline: the one member of its group, its topics, and a Spark query for each part."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.errors import FencedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.membership import Membership
from lastword.pipelines.events import Tally
from lastword.pipelines.own_topics import ensure_topic, partitions_of
from lastword.pipelines.plan import Branch, TaskPlan
from lastword.pipelines.query import PipelineQuery
from lastword.pipelines.topology import OwnTopic, Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

_LOOK_S = 0.2


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a pipeline runs here; where it reads and writes is its topology's business."""

    connection: Connection
    state_dir: Path
    replication: int
    commit_interval_ms: int
    max_records_per_batch: int
    once: bool
    on_batch: Callable[[Tally], None]


class Driver:
    """One run of one application, from joining its group to leaving it."""

    def __init__(self, topology: Topology, spark: SparkSession, settings: RunSettings) -> None:
        self._topology = topology
        self._spark = spark
        self._settings = settings
        self._application_id = topology.application_id
        self._control = OwnTopic(f"{topology.application_id}-control", "table")
        self._quarantine = OwnTopic(f"{topology.application_id}-quarantine", "repartition")
        self._lost = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Process until ``stop`` is set, or once; raises FencedError when replaced."""
        with Admin(self._settings.connection) as admin:
            self._ensure(admin, self._control, 1)
            self._ensure(admin, self._quarantine, 1)
            plans = [self._plan(admin, part) for part in self._topology.parts()]
        membership = Membership(
            self._settings.connection,
            self._application_id,
            self._control.name,
            client_id=f"{self._application_id}@{socket.gethostname()}:{os.getpid()}",
            on_lost=self._lost.set,
        )
        membership.join()
        try:
            queries = [self._query(plan, membership) for plan in plans]
            if self._settings.once:
                self._run_one_by_one(queries, stop)
            else:
                self._run_together(queries, stop)
        finally:
            membership.leave()

    def _plan(self, admin: Admin, part: Sequence[Branch]) -> TaskPlan:
        """Make sure of every topic the part writes; sources must be there, or be ours."""
        topics = frozenset[str]().union(*(branch.topics for branch in part))
        partitions = partitions_of(admin, topics)
        sinks: dict[str, int] = {}
        for branch in part:
            if branch.store is not None and branch.store.changelog is not None:
                own = self._topology.own_topics[branch.store.changelog]
                self._ensure(admin, own, partitions)
            if branch.sink is not None:
                self._ensure(admin, self._topology.own_topics[branch.sink], partitions)
                sinks[branch.sink] = partitions
        return TaskPlan(
            application_id=self._application_id,
            connection=self._settings.connection,
            partitions=partitions,
            sources={topic: self._topology.sources[topic] for topic in topics},
            branches=tuple(part),
            quarantine_topic=self._quarantine.name,
            state_dir=self._settings.state_dir,
            sink_partitions=sinks,
        )

    def _ensure(self, admin: Admin, topic: OwnTopic, partitions: int) -> None:
        replication = self._settings.replication
        ensure_topic(admin, topic, partitions=partitions, replication=replication)

    def _query(self, plan: TaskPlan, membership: Membership) -> PipelineQuery:
        return PipelineQuery(
            self._spark,
            plan,
            checkpoint_dir=self._settings.state_dir / self._application_id / "spark-checkpoints",
            max_records=self._settings.max_records_per_batch,
            group_metadata=lambda: membership.metadata,
            on_batch=self._settings.on_batch,
        )

    def _run_one_by_one(self, queries: Sequence[PipelineQuery], stop: threading.Event) -> None:
        """Upstream first: what a part writes is there before the next one looks."""
        for query in queries:
            self._watch([query.start(once=True, commit_interval_ms=0)], stop)

    def _run_together(self, queries: Sequence[PipelineQuery], stop: threading.Event) -> None:
        interval_ms = self._settings.commit_interval_ms
        self._watch(
            [query.start(once=False, commit_interval_ms=interval_ms) for query in queries], stop
        )

    def _watch(self, running: Sequence[StreamingQuery], stop: threading.Event) -> None:
        try:
            while all(query.isActive for query in running):
                if self._lost.is_set():
                    raise FencedError(
                        f"another driver may have taken over {self._application_id!r}: "
                        "this one was not heard of for too long",
                        hint="was this process paused, or the network cut? It will not rejoin",
                    )
                if stop.wait(_LOOK_S):
                    return
        finally:
            for query in running:
                query.stop()
        for query in running:
            failure = query.exception()
            if failure is not None:
                raise failure
