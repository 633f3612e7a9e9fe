"""Runs a pipeline: the one member of its group, its topics, and a Spark query for each part."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lastword.catalog.catalog import try_write_entries
from lastword.codecs.key_subjects import register_keys
from lastword.errors import ConfigError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.driver_lock import DriverLock
from lastword.kafka.groups.names import pipeline_group
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.pipelines.api.state import PipelineLife
from lastword.pipelines.graph.own_topics import (
    check_order,
    check_tables,
    ensure_topic,
    partitions_of,
)
from lastword.pipelines.graph.part import Part, sinks_of, tables_of, topics_of
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.graph.topology import OwnTopic, Topology
from lastword.pipelines.real_time.live_query import LiveQuery
from lastword.pipelines.run.lag import LagMeter
from lastword.pipelines.run.left_transactions import end_left_transactions
from lastword.pipelines.run.observer import BatchReport, Observer
from lastword.pipelines.run.part_query import QueryInputs
from lastword.pipelines.run.query import PipelineQuery
from lastword.pipelines.run.supervisor import Query, Supervisor
from lastword.spark.slots import Slots, slots_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_LAG_AGE_S = 2.0


Mode = Literal["micro-batch", "real-time"]
"""Whether Spark plans batches, or runs long tasks that read their partitions themselves."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a pipeline runs here; the topology says what it reads and writes."""

    connection: Connection
    state_dir: Path
    replication: int
    commit_interval_ms: int
    max_records_per_batch: int
    once: bool
    mode: Mode
    observer: Observer


class Driver:
    """One run of an application, from joining its group to leaving it."""

    def __init__(self, topology: Topology, settings: RunSettings, life: PipelineLife) -> None:
        self._topology = topology
        self._settings = settings
        self._life = life
        self._application_id = topology.application_id
        self._control = topology.control
        self._quarantine = topology.quarantine
        self._lost = threading.Event()

    def create_topics(self) -> None:
        """Create every topic that the pipeline writes; needs neither Spark nor membership."""
        with Admin(self._settings.connection) as admin:
            self._ensure(admin, self._control, 1)
            self._ensure(admin, self._quarantine, 1)
            for part in self._topology.parts():
                self._plan(admin, part)
        self._write_catalog()

    def run(self, spark: SparkSession, stop: threading.Event) -> None:
        """Process until ``stop`` is set, or once; raises FencedError if another one takes over."""
        parts = self._topology.parts()
        self._refuse_transforms(parts)
        with Admin(self._settings.connection) as admin:
            self._ensure(admin, self._control, 1)
            driver_lock = DriverLock(
                self._settings.connection,
                pipeline_group(self._application_id),
                self._control.name,
                client_id=self._client_id,
                on_lost=self._lost.set,
            )
            driver_lock.join()
            with ExitStack() as held:
                held.callback(driver_lock.leave)
                self._ensure(admin, self._quarantine, 1)
                plans = [self._plan(admin, part) for part in parts]
                end_left_transactions(self._settings.connection, plans)
                self._write_catalog()
                meter = self._meter(plans)
                held.callback(meter.close)
                slots = None
                if self._is_real_time:
                    slots = held.enter_context(self._slots(spark, len(plans), stop))
                # One for each part, upstream first.
                queries = [self._query(spark, plan, driver_lock, meter, slots) for plan in plans]
                scratch = held.enter_context(tempfile.TemporaryDirectory(prefix="lastword-"))
                supervisor = Supervisor(
                    self._application_id,
                    self._life,
                    is_replaced=self._lost.is_set,
                    on_look=lambda: self._look_at_lag(meter),
                )
                supervisor.run(queries, Path(scratch), stop, once=self._settings.once)

    def _plan(self, admin: Admin, part: Part) -> TaskPlan:
        """Create every topic that the part writes; its sources must exist, or be the pipeline's."""
        read = topics_of(part)
        made = {topic: self._topology.sources[topic] for topic in read if self._made(topic)}
        topics = (read - made.keys()) | {source.root or "" for source in made.values()}
        tables = tables_of(part)
        check_tables(admin, tables)
        partitions = partitions_of(admin, topics | tables)
        check_order([self._topology.sources[topic] for topic in topics], partitions)
        plan = TaskPlan(
            application_id=self._application_id,
            connection=self._settings.connection,
            partitions=partitions,
            sources={topic: self._topology.sources[topic] for topic in topics},
            nodes=part,
            transforms=made,
            quarantine_topic=self._quarantine.name,
            state_dir=self._settings.state_dir,
            sink_keyspaces={
                sink.topic: Keyspace(
                    self._ensure(admin, self._topology.own_topics[sink.topic], partitions)
                )
                for sink in sinks_of(part)
            },
        )
        for changelog in plan.changelogs.values():
            self._ensure(admin, self._topology.own_topics[changelog], partitions)
        return plan

    @property
    def _client_id(self) -> str:
        """Names this driver to whoever looks at the group, with its mode."""
        where = f"{socket.gethostname()}:{os.getpid()}"
        return f"{self._application_id}@{where} ({self._settings.mode})"

    def _write_catalog(self) -> None:
        connection = self._settings.connection
        try_write_entries(connection, KafkaLog(connection), self._topology.entries)
        for topic, keys in self._topology.keys.items():
            register_keys(keys, topic)

    def _made(self, topic: str) -> bool:
        """Whether the name is a stream that Spark derives, not a topic."""
        return self._topology.sources[topic].transform is not None

    def _ensure(self, admin: Admin, topic: OwnTopic, partitions: int) -> int:
        replication = self._settings.replication
        return ensure_topic(admin, topic, partitions=partitions, replication=replication)

    def _query(
        self,
        spark: SparkSession,
        plan: TaskPlan,
        driver_lock: DriverLock,
        meter: LagMeter,
        slots: Slots | None,
    ) -> Query:
        own = self._topology.own_topics.values()
        inputs = QueryInputs(
            spark,
            plan,
            log_source=KafkaLog(plan.connection),
            repartition_topics=frozenset(t.name for t in own if t.purpose == "repartition"),
            commit_interval_ms=self._settings.commit_interval_ms,
            once=self._settings.once,
            group_metadata=lambda: driver_lock.metadata,
            on_batch=lambda report: self._observe(report, meter),
        )
        if slots is not None:
            return LiveQuery(inputs, slots=slots)
        return PipelineQuery(inputs, max_records=self._settings.max_records_per_batch)

    @property
    def _is_real_time(self) -> bool:
        return self._settings.mode == "real-time"

    @contextmanager
    def _slots(self, spark: SparkSession, parts: int, stop: threading.Event) -> Iterator[Slots]:
        """The Spark slots for long tasks, with a share for each of the concurrent parts."""
        if spark.sparkContext.getConf().get("spark.speculation") == "true":
            raise ConfigError(
                "real-time mode cannot run with spark.speculation=true: a second attempt of a long "
                "task takes its partitions away from the first",
                hint="set spark.speculation=false",
            )
        slots = slots_of(spark)
        with slots.used_by(1 if self._settings.once else parts):
            slots.require(stop)
            yield slots

    def _refuse_transforms(self, parts: Sequence[Part]) -> None:
        """Raise ConfigError for transforms: DataFrames exist only in micro-batches."""
        for topic in sorted(topic for part in parts for topic in topics_of(part)):
            if self._is_real_time and self._made(topic):
                raise ConfigError(
                    f"transform() of {topic} needs micro-batches: real-time mode has none",
                    hint="run it with mode='micro-batch', or use filter(), map_values() and "
                    "select_key()",
                )

    def _meter(self, plans: Sequence[TaskPlan]) -> LagMeter:
        partitions = {topic: plan.partitions for plan in plans for topic in plan.sources}
        return LagMeter(self._settings.connection, self._application_id, partitions)

    def _look_at_lag(self, meter: LagMeter) -> None:
        meter.look(max_age_s=_LAG_AGE_S)
        self._settings.observer.lag(meter.lag)

    def _observe(self, report: BatchReport, meter: LagMeter) -> None:
        """Observe a batch with the lag of all its sources, or of none."""
        meter.look()
        lag = meter.lag if set(report.sources) <= meter.lag.keys() else None
        behind = None if lag is None else sum(lag[topic] for topic in report.sources)
        self._settings.observer.batch(replace(report, lag=behind))
