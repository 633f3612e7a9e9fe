"""One Spark streaming query: the nodes that share their sources."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.kafka.admin import Admin
from lastword.kafka.groups import Committed
from lastword.pipelines.graph.own_topics import partitions_of
from lastword.pipelines.graph.task_plan import BatchOrder
from lastword.pipelines.operators.transform import with_transforms
from lastword.pipelines.run.continuity import check_continuity, starting_offsets
from lastword.pipelines.run.part_query import PartQuery, QueryInputs
from lastword.pipelines.run.source_frame import source_spans, source_stream
from lastword.pipelines.run.spans import NO_SPANS, Span, Spans
from lastword.pipelines.task.release_request import release_all
from lastword.pipelines.task.run_task import ORDER_PROPERTY, partitions_added, run_ordered_task
from lastword.pipelines.task.task_report import from_row, report_type
from lastword.pipelines.task.task_stores import store_directories
from lastword.records import TopicPartition
from lastword.spark.arrow_batches import arrow_settings
from lastword.spark.query_settings import SCRATCH_CHECKPOINT, query_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

_RELEASE_S = 10.0
# Spark gives a task to the worker that has been idle longest. With several tasks in a batch, a
# partition changes its worker nearly every time, and stores that were kept would have to move.
_STEADY_BATCHES = 3


class PipelineQuery(PartQuery):
    """Reads the sources batch by batch; one task per source partition processes each batch.

    Positions are those of the application's consumer group, committed by the tasks together with
    the results. Spark's checkpoint only plans the batches of one run: the next run starts from the
    positions, with an empty checkpoint.
    """

    def __init__(self, inputs: QueryInputs, *, max_records: int) -> None:
        super().__init__(inputs)
        self._max_records = max_records
        self._admin = Admin(inputs.plan.connection)
        self._arrow: Mapping[str, str] = {}
        self._spans: Spans | None = None
        self._running: StreamingQuery | None = None

    def start(self, scratch: Path) -> None:
        """Start; with ``once``, end at the current ends. ``scratch`` has Spark's checkpoint."""
        writer = self._stream().writeStream.foreachBatch(self._run_batch)
        writer = writer.option("checkpointLocation", scratch.as_uri())
        if self._once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self._commit_interval_ms} milliseconds")
        with query_settings(self._spark, {**SCRATCH_CHECKPOINT, **self._arrow}):
            self._running = writer.start()

    @property
    def is_active(self) -> bool:
        """Whether it was started and has not ended."""
        return self._running is not None and bool(self._running.isActive)

    @property
    def failure(self) -> Exception | None:
        """The error that ended it; None if it did not fail."""
        return None if self._running is None else self._running.exception()

    def stop(self) -> None:
        """Stop it; what is not committed by then is left for the next run. Idempotent."""
        self._stopping.set()
        if self._running is not None:
            self._running.stop()
            self._release_stores()
        self._admin.close()

    def _release_stores(self) -> None:
        """Have the workers of this machine close the stores that they keep open.

        On other machines they close them after a while, or for the next run.
        """
        kept = release_all(store_directories(self._plan), timeout_s=_RELEASE_S)
        for each in kept:
            log.warning("%s is still open, %.0f s after the end of the run", each, _RELEASE_S)

    @property
    def _is_planned_once(self) -> bool:
        """Whether the tasks are part of the stream, which Spark analyzes once for all batches."""
        return self._plan.only_source is not None

    def _stream(self) -> DataFrame:
        """The sources as a stream; raises if results and positions do not belong together."""
        committed = self._committed()
        check_continuity(self._admin, self._log_source, self._plan, committed)
        if not self._plan.transforms:  # a transform may make records larger
            self._arrow = arrow_settings(self._admin, self._plan.sources)
        starts = starting_offsets(self._admin, self._plan, committed)
        if len(self._plan.sources) == 1:
            stream = source_stream(self._spark, self._plan, starts, self._max_records)
            return self._tasks(stream) if self._is_planned_once else stream
        places = {
            TopicPartition(topic, p): at for topic, each in starts.items() for p, at in each.items()
        }
        self._spans = Spans(places, self._max_records)
        return source_stream(self._spark, self._plan, starts, None)

    def _run_batch(self, records: DataFrame, batch_id: int) -> None:
        """Called by Spark for each batch of the stream.

        ``stop`` ends a batch in its midst. What Spark raises for that is not a failure: what is not
        committed is left for the next run.
        """
        try:
            self._process_records(records)
        except Exception as error:
            if not self._stopping.is_set():
                raise
            log.debug("a batch of %s was stopped: %s", self._plan.name, error)

    def _process_records(self, records: DataFrame) -> None:
        """Process a batch of Spark.

        Spark splits several sources by offsets, regardless of times. So a batch of Spark only says
        that there are new records. What to read, and in which portions, is decided here, and all
        records in the log by now are processed before Spark looks again.
        """
        if self._spans is None:
            tasks = records if self._is_planned_once else self._tasks(records)
            self._process(tasks, self._committed())
            return
        ends = self._ends()
        while not self._stopping.is_set():
            committed = self._committed()
            spans = self._spans.next(committed, ends)
            if not spans:
                break
            read = source_spans(records.sparkSession, self._plan, spans)
            processed = self._process(self._tasks(read), committed, spans)
            self._spans.pass_over(spans, {place.partition for place in spans} - processed)

    def _tasks(self, records: DataFrame) -> DataFrame:
        """One task for each partition of these records; its rows are the reports of the tasks."""
        records = with_transforms(records, self._plan)
        if self._plan.only_source is None:
            # Spark reads each partition of each topic in its own task; equal numbers must meet.
            records = records.repartitionById(self._plan.partitions, "partition")
            records = records.sortWithinPartitions("topic", "offset")
        task = functools.partial(run_ordered_task, plan=self._plan)
        return records.mapInArrow(task, report_type())

    def _process(
        self,
        tasks: DataFrame,
        committed: Mapping[TopicPartition, Committed],
        spans: Mapping[TopicPartition, Span] = NO_SPANS,
    ) -> set[int]:
        """Run the tasks of a batch; returns the partitions that had records.

        It collects only a few rows of counts per task.
        """
        began = self._clock.monotonic()
        order = BatchOrder(
            committed,
            self._group_metadata(),
            self._tables(),
            spans,
            keeps_stores_after=None if self._once else _STEADY_BATCHES,
        )
        self._spark.sparkContext.setLocalProperty(ORDER_PROPERTY, order.as_text())
        reports = [from_row(row.asDict()) for row in tasks.collect()]
        total = self._totals.add_up(reports, self._clock.monotonic() - began)
        log.debug("a batch of %s: %s", self._plan.name, total.tally)
        self._on_batch(total)
        self._purge.if_due()
        return {report.partition for report in reports}

    def _tables(self) -> dict[TopicPartition, tuple[int, int]]:
        """The ends of the joined tables, captured once per batch."""
        partitions = range(self._plan.partitions)
        bounds: dict[TopicPartition, tuple[int, int]] = {}
        for topic in set(self._plan.tables.values()):
            bounds |= {
                TopicPartition(topic, p): (each.start, each.stable_end)
                for p, each in self._admin.bounds(topic, partitions).items()
            }
        return bounds

    def _ends(self) -> dict[TopicPartition, int]:
        """The current ends of the sources. A later look never returns a smaller end (KIP-207)."""
        ends: dict[TopicPartition, int] = {}
        if partitions_of(self._admin, self._plan.sources) != self._plan.partitions:
            raise partitions_added(self._plan)
        for topic in self._plan.sources:
            stable = self._admin.stable_offsets(topic, range(self._plan.partitions))
            ends |= {TopicPartition(topic, p): end for p, end in stable.items()}
        return ends
