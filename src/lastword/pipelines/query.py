"""One Spark streaming query: the branches that share their sources."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError
from lastword.kafka.admin import Admin
from lastword.kafka.groups import Committed, Groups, Place
from lastword.pipelines.arrow_batches import arrow_settings
from lastword.pipelines.continuity import check_continuity, starting_offsets
from lastword.pipelines.events import Tally
from lastword.pipelines.observer import BatchReport
from lastword.pipelines.plan import BatchOrder, TaskPlan
from lastword.pipelines.task import run_task
from lastword.pipelines.task_input import COLUMNS, HEADERS
from lastword.pipelines.task_report import REPORT_SCHEMA, StoreSize, from_row
from lastword.pipelines.transform import with_transforms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

PURGE_INTERVAL_S = 30.0

# Measured: the default wait of 500 ms costs a second in every batch that reaches the end of the
# log, and 500 records a poll two extra round trips for each. Catching up wants large fetches.
SOURCE_OPTIONS: Mapping[str, str] = {
    "failOnDataLoss": "true",
    "kafka.isolation.level": "read_committed",
    "kafka.fetch.max.wait.ms": "20",
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(4 << 20),
}


class PipelineQuery:
    """Reads the sources batch by batch and has one task per source partition process it.

    Positions are those of the application's consumer group, committed by the tasks together with
    the results. Spark's checkpoint only plans the batches of one run: the next one starts from
    the positions, with an empty checkpoint.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: TaskPlan,
        *,
        passages: frozenset[str],
        max_records: int,
        group_metadata: Callable[[], bytes],
        on_batch: Callable[[BatchReport], None],
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._passages = sorted(passages & set(plan.sources))
        self._max_records = max_records
        self._group_metadata = group_metadata
        self._on_batch = on_batch
        self._clock = SYSTEM_CLOCK
        self._groups = Groups(plan.connection)
        self._arrow: Mapping[str, str] = {}
        self._sizes: dict[str, dict[int, StoreSize]] = {}
        self._purged_at = self._clock.monotonic()

    def start(self, checkpoint: Path, *, once: bool, commit_interval_ms: int) -> StreamingQuery:
        """Begin; with ``once``, end after what is there now."""
        writer = self._records().writeStream.foreachBatch(self._run_batch)
        writer = writer.option("checkpointLocation", checkpoint.as_uri())
        if once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{commit_interval_ms} milliseconds")
        return writer.start()

    def finish(self) -> None:
        """Leave nothing in the repartition topics that is processed; idempotent."""
        self._purge()
        self._groups.close()

    def _records(self) -> DataFrame:
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - on the driver only

        reader = self._spark.readStream.format("kafka").options(**SOURCE_OPTIONS)
        for name, value in self._plan.connection.java().items():
            reader = reader.option(f"kafka.{name}", value)
        reader = reader.option("subscribe", ",".join(sorted(self._plan.sources)))
        reader = reader.option("includeHeaders", str(self._plan.wants_headers).lower())
        reader = reader.option("startingOffsets", self._starting_offsets())
        reader = reader.option("maxOffsetsPerTrigger", str(self._max_records))
        try:
            records = reader.load()
        except AnalysisException as error:
            raise ConfigError(
                f"this SparkSession cannot read Kafka: {error}",
                hint='spark-submit --jars "$(lastword pipeline jars)", or spark.jars likewise, '
                "or let the pipeline build its own session",
            ) from error
        headers = [HEADERS] if self._plan.wants_headers else []
        return records.selectExpr(
            *COLUMNS[:-1], f"unix_millis(timestamp) AS {COLUMNS[-1]}", *headers
        )

    def _run_batch(self, records: DataFrame, batch_id: int) -> None:
        """Called by Spark for each batch; what is collected are a few rows of counts per task."""
        began = self._clock.monotonic()
        for name, value in self._arrow.items():
            records.sparkSession.conf.set(name, value)  # a session of the query's own
        records = with_transforms(records, self._plan)
        if self._plan.only_source is not None:
            records = records.drop("topic")  # is the same in every record
        else:
            # Spark reads each topic's partition in a task of its own; equal numbers must meet.
            records = records.repartitionById(self._plan.partitions, "partition")
            records = records.sortWithinPartitions("topic", "offset")
        order = BatchOrder(self._committed(), self._group_metadata(), self._tables())
        task = functools.partial(run_task, plan=self._plan, order=order)
        tally = Tally()
        for row in records.mapInArrow(task, REPORT_SCHEMA).collect():
            report = from_row(row.asDict())
            for name in Tally.__slots__:
                setattr(tally, name, getattr(tally, name) + getattr(report.tally, name))
            for store, size in report.stores.items():
                self._sizes.setdefault(store, {})[report.partition] = size
        log.debug("batch %d of %s: %s", batch_id, self._plan.name, tally)
        stores = {name: sum(sizes.values(), StoreSize()) for name, sizes in self._sizes.items()}
        sources, seconds = tuple(sorted(self._plan.sources)), self._clock.monotonic() - began
        self._on_batch(BatchReport(sources, seconds, tally, stores=stores))
        if self._clock.monotonic() - self._purged_at >= PURGE_INTERVAL_S:
            self._purge()

    def _committed(self) -> dict[Place, Committed]:
        return self._groups.committed(self._plan.group, self._plan.places)

    def _tables(self) -> dict[Place, tuple[int, int]]:
        """The ends of the tables that events are joined to, captured once for the batch."""
        partitions = range(self._plan.partitions)
        bounds: dict[Place, tuple[int, int]] = {}
        if self._plan.tables:
            with Admin(self._plan.connection) as admin:
                for topic in set(self._plan.tables.values()):
                    starts = admin.start_offsets(topic, partitions)
                    ends = admin.stable_offsets(topic, partitions)
                    bounds |= {Place(topic, p): (starts[p], ends[p]) for p in partitions}
        return bounds

    def _starting_offsets(self) -> str:
        """As Spark wants them; refused when results and positions do not belong together."""
        committed = self._committed()
        with Admin(self._plan.connection) as admin:
            check_continuity(admin, self._plan, committed)
            if not self._plan.transforms:  # they may make records larger
                self._arrow = arrow_settings(admin, self._plan.sources)
            return json.dumps(starting_offsets(admin, self._plan, committed))

    def _purge(self) -> None:
        """Delete what is processed from the topics that are only passages of this pipeline."""
        self._purged_at = self._clock.monotonic()
        if not self._passages:
            return
        committed = self._committed()
        with Admin(self._plan.connection) as admin:
            for topic in self._passages:
                partitions = range(self._plan.partitions)
                done = {
                    p: committed[Place(topic, p)].offset
                    for p in partitions
                    if Place(topic, p) in committed
                }
                if done:
                    admin.delete_before(topic, done)
