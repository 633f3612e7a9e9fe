"""The base of both kinds of query: inputs, committed positions, totals, and the purge."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.groups import Committed, Groups
from lastword.kafka.log.source import LogSource
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.run.batch_totals import BatchTotals
from lastword.pipelines.run.observer import BatchReport
from lastword.pipelines.run.repartition_purge import RepartitionPurge
from lastword.records import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class QueryInputs:
    """The inputs of a query: the part to run, and its connections to the driver.

    ``group_metadata`` returns the driver's current proof of membership, and ``on_batch`` gets the
    report of each batch. With ``once`` the query ends at the current ends of its sources.
    """

    spark: SparkSession
    plan: TaskPlan
    log_source: LogSource
    repartition_topics: frozenset[str]
    commit_interval_ms: int
    once: bool
    group_metadata: Callable[[], bytes]
    on_batch: Callable[[BatchReport], None]


class PartQuery:
    """The base class of the queries of a part."""

    def __init__(self, inputs: QueryInputs) -> None:
        plan = inputs.plan
        self._spark = inputs.spark
        self._plan = plan
        self._log_source = inputs.log_source
        self._commit_interval_ms = inputs.commit_interval_ms
        self._once = inputs.once
        self._group_metadata = inputs.group_metadata
        self._on_batch = inputs.on_batch
        self._clock = SYSTEM_CLOCK
        self._groups = Groups(plan.connection)
        self._totals = BatchTotals(plan.sources)
        topics = inputs.repartition_topics & set(plan.sources)
        self._purge = RepartitionPurge(plan.connection, topics, self._committed)
        self._stopping = threading.Event()

    def finish(self) -> None:
        """Delete processed records from the repartition topics; idempotent."""
        self._purge.now()
        self._groups.close()

    def _committed(self) -> dict[TopicPartition, Committed]:
        return self._groups.committed(self._plan.group, self._plan.source_partitions)
