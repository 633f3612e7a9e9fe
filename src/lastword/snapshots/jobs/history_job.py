"""Keeps every change of a topic: appends new records to its history, exactly once."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.resolve import CodecSpec, codecs_for
from lastword.errors import SnapshotError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.replicas.topic.protection import protection_seen
from lastword.replicas.topic.topic_state import read_topic_state
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.jobs.history_task import HistoryTask
from lastword.snapshots.travel.log_completeness import log_completeness
from lastword.snapshots.travel.truncation import why_torn
from lastword.spark.topic_frame import topic_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lastword.snapshots.catalog.decoded_columns import DecodedColumns
    from lastword.snapshots.catalog.history_planning import HistoryPlan
    from lastword.snapshots.travel.history import HistoryCommit, HistoryMetadata

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HistoryReport:
    """What was appended; ``records`` were read from the topic.

    ``unfit`` keys and values among them do not fit their schema, or cannot be read.
    """

    commit: HistoryCommit
    records: int
    unfit: int
    seconds: float


class HistoryCounts(NamedTuple):
    """Records that were read, and keys and values among them that cannot be decoded."""

    records: int
    unfit: int


class HistoryJob:
    """The history of one topic; ``run`` takes it from where it ended to the end of the topic.

    Rows and positions are one Delta commit. Killed at any moment, it has appended all or nothing.
    """

    def __init__(
        self,
        spark: SparkSession,
        connection: Connection,
        location: Location,
        *,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        from lastword.snapshots.travel.history import History  # noqa: PLC0415 - loads deltalake

        self._spark = spark
        self._connection = connection
        self._log_source = KafkaLog(connection)
        self._location = location
        self._codecs = codecs_for(location.topic, key, value)
        self._clock = clock
        self._history = History(location.history)

    def run(self, *, full: bool = False) -> HistoryReport:
        """Append what is new; raises SnapshotError when that cannot be, and nothing has changed.

        ``full`` allows to write the whole history again where a column has another type now.
        """
        started = self._clock.monotonic()
        metadata, plan = self._plan()
        counts = self._write(metadata, plan, full=full)
        newest = next(iter(self._history.commits()), None)
        if newest is None or newest.metadata.run_id != metadata.run_id:
            raise SnapshotError(
                f"another job has appended to the history of {metadata.topic} meanwhile",
                hint="one job per topic and location is enough; nothing is lost or duplicated",
            )
        return HistoryReport(newest, *counts, self._clock.monotonic() - started)

    def _plan(self) -> tuple[HistoryMetadata, HistoryPlan]:
        from lastword.snapshots.catalog.history_planning import (  # noqa: PLC0415
            plan_history,
            require_same_log,
        )
        from lastword.snapshots.travel.history import HistoryMetadata  # noqa: PLC0415 - loads deltalake

        topic = self._location.topic
        names = (self._codecs[0].name, self._codecs[1].name)
        newest = next(iter(self._history.commits()), None)
        with Admin(self._connection) as admin:
            topic_state = read_topic_state(admin, topic, self._clock.now_ms())
            now = protection_seen(topic_state, self._clock.now_ms())
            if newest is not None:
                torn = why_torn(self._log_source, topic_state, newest.metadata)
                require_same_log(newest, topic_state, self._history.uri, names, torn=torn)
            observed = [now] if newest is None else [newest.protection, now]
            plan = plan_history(newest, topic_state, log_completeness(admin, topic, observed))
        metadata = HistoryMetadata(
            number=plan.number,
            run_id=uuid.uuid4().hex,
            topic=topic,
            topic_id=topic_state.topic_id,
            cluster_id=topic_state.cluster_id,
            starts=plan.starts,
            offsets=plan.ends,
            held_from=plan.held_from,
            complete_from=plan.complete_from,
            captured_at_ms=now.at_ms,
            answered_at_ms=now.answered_at_ms,
            compaction_lag_ms=now.compaction_lag_ms,
            leader_epochs=dict(topic_state.leader_epochs),
            key_codec=names[0],
            value_codec=names[1],
        )
        return metadata, plan

    def _columns(self, *, full: bool) -> tuple[DecodedColumns, bool]:
        """The decoded columns to write, and whether the rows that are there get them as well."""
        from lastword.snapshots.catalog.column_changes import merged_columns  # noqa: PLC0415
        from lastword.snapshots.catalog.decoded_columns import decoded_columns  # noqa: PLC0415

        columns = decoded_columns(*self._codecs)
        held = self._history.decoded_types()
        if held is None:
            return columns, False
        try:
            merged = merged_columns(held, columns.types, uri=self._history.uri)
        except SnapshotError:
            if not full:
                raise
            return columns, True
        return columns.as_types(merged), False

    def _write(self, metadata: HistoryMetadata, plan: HistoryPlan, *, full: bool) -> HistoryCounts:
        from pyspark.sql.types import StructType  # noqa: PLC0415 - on the driver only

        from lastword.snapshots.catalog.layout import delta_schema, history_columns  # noqa: PLC0415

        columns, anew = self._columns(full=full)
        schema = StructType.fromJson(delta_schema(history_columns(columns.types)))
        records, unfit = (self._spark.sparkContext.accumulator(0) for _ in range(2))

        def count(more_records: int, more_unfit: int) -> None:
            records.add(more_records)
            unfit.add(more_unfit)

        parts = [
            topic_frame(
                self._spark,
                self._connection,
                metadata.topic,
                partition=partition,
                start=plan.starts[partition],
                end=plan.ends[partition],
            ).mapInArrow(HistoryTask(partition, columns, count), schema)
            for partition in plan.changed
        ]
        if anew:
            held = self._held_rows()
            parts.append(held.mapInArrow(HistoryTask(None, columns, _uncounted), schema))
        rows = reduce(_union, parts, self._spark.createDataFrame([], schema))
        self._commit(rows, metadata, anew=anew)
        return HistoryCounts(int(records.value), int(unfit.value))

    def _held_rows(self) -> DataFrame:
        """The records that the history has, as they were read."""
        from lastword.snapshots.catalog.layout import RAW_COLUMNS  # noqa: PLC0415

        held = self._spark.read.format("delta").load(self._location.history)
        return held.select(*RAW_COLUMNS, "partition")

    def _commit(self, rows: DataFrame, metadata: HistoryMetadata, *, anew: bool) -> None:
        from lastword.snapshots.travel.history import APPLICATION, encode_history_metadata  # noqa: PLC0415

        writer = rows.write.format("delta").partitionBy("date")
        writer = writer.option("userMetadata", encode_history_metadata(metadata))
        # Of two jobs that append the same, and of a commit that is tried twice, Delta takes one.
        writer = writer.option("txnAppId", APPLICATION).option("txnVersion", str(metadata.number))
        if anew:
            writer = writer.mode("overwrite").option("overwriteSchema", "true")
        else:
            writer = writer.mode("append").option("mergeSchema", "true")
        writer.save(self._location.history)


def _uncounted(_records: int, _unfit: int) -> None:
    """Rows that are decoded again were counted when they were read."""


def _union(above: DataFrame, below: DataFrame) -> DataFrame:
    return above.unionAll(below)
