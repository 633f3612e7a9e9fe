"""One Spark streaming query: the branches that share their sources."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.kafka.admin import Admin
from lastword.kafka.groups import Committed, Groups, Place
from lastword.pipelines.events import Tally
from lastword.pipelines.partition_run import REPORT_SCHEMA
from lastword.pipelines.plan import BatchOrder, TaskPlan
from lastword.pipelines.task import run_task
from lastword.pipelines.task_input import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

# Measured: the default wait of 500 ms costs a second in every batch that reaches the end of the
# log, and 500 records a poll two extra round trips for each.
_SOURCE_OPTIONS: Mapping[str, str] = {
    "includeHeaders": "true",
    "failOnDataLoss": "true",
    "kafka.isolation.level": "read_committed",
    "kafka.fetch.max.wait.ms": "20",
    "kafka.max.poll.records": "10000",
}


class PipelineQuery:
    """Reads the sources batch by batch and has one task per source partition process it.

    Positions are those of the application's consumer group, committed by the tasks together with
    the results. Spark's checkpoint only plans batches; without it the query starts from there.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: TaskPlan,
        *,
        checkpoint_dir: Path,
        max_records: int,
        group_metadata: Callable[[], bytes],
        on_batch: Callable[[Tally], None],
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._checkpoint = checkpoint_dir / "+".join(sorted(plan.sources))
        self._max_records = max_records
        self._group_metadata = group_metadata
        self._on_batch = on_batch
        self._groups = Groups(plan.connection)
        self._places = [
            Place(topic, partition)
            for topic in plan.sources
            for partition in range(plan.partitions)
        ]

    def start(self, *, once: bool, commit_interval_ms: int) -> StreamingQuery:
        """Begin; with ``once``, end after what is there now."""
        writer = self._records().writeStream.foreachBatch(self._run_batch)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        if once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{commit_interval_ms} milliseconds")
        return writer.start()

    def _records(self) -> DataFrame:
        reader = self._spark.readStream.format("kafka").options(**_SOURCE_OPTIONS)
        for name, value in self._plan.connection.java().items():
            reader = reader.option(f"kafka.{name}", value)
        reader = reader.option("subscribe", ",".join(sorted(self._plan.sources)))
        reader = reader.option("startingOffsets", self._starting_offsets())
        reader = reader.option("maxOffsetsPerTrigger", str(self._max_records))
        return reader.load().selectExpr(
            "key",
            "value",
            "topic",
            "partition",
            "offset",
            "unix_millis(timestamp) AS timestamp_ms",
            "headers",
        )

    def _run_batch(self, records: DataFrame, batch_id: int) -> None:
        """Called by Spark for each batch; what is collected is one row of counts per task."""
        if len(self._plan.sources) > 1:
            # Spark reads each topic's partition in a task of its own; equal numbers must meet.
            records = records.repartitionById(self._plan.partitions, "partition")
            records = records.sortWithinPartitions("topic", "offset")
        order = BatchOrder(self._committed(), self._group_metadata())
        task = functools.partial(run_task, plan=self._plan, order=order)
        tally = Tally()
        for row in records.select(*COLUMNS).mapInArrow(task, REPORT_SCHEMA).collect():
            for name in Tally.__slots__:
                setattr(tally, name, getattr(tally, name) + row[name])
        log.debug("batch %d of %s: %s", batch_id, sorted(self._plan.sources), tally)
        self._on_batch(tally)

    def _committed(self) -> dict[Place, Committed]:
        return self._groups.committed(self._plan.application_id, self._places)

    def _starting_offsets(self) -> str:
        """Where the results stand, for a query without a checkpoint; else the log's start."""
        committed = self._committed()
        offsets: dict[str, dict[str, int]] = {}
        with Admin(self._plan.connection) as admin:
            for topic in self._plan.sources:
                starts = admin.start_offsets(topic, range(self._plan.partitions))
                offsets[topic] = {
                    str(p): max(start, committed.get(Place(topic, p), Committed(0, "")).offset)
                    for p, start in starts.items()
                }
        return json.dumps(offsets)
