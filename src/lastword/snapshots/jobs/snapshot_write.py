"""Writes the rows of a snapshot: one Spark task per partition, one Delta commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.replicas.topic.topic_state import TopicState
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot import APPLICATION, SnapshotMetadata, encode_metadata
from lastword.snapshots.jobs.snapshot_task import SnapshotTask
from lastword.spark.partition_reads import MinPerPartition
from lastword.spark.topic_frame import topic_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lastword.snapshots.catalog.decoded_columns import DecodedColumns
    from lastword.snapshots.catalog.snapshot_planning import SnapshotPlan


@dataclass(frozen=True)
class SnapshotWritten:
    """What was read from the topic, of each partition too, and what of the rows is unfit."""

    records: int
    bytes: int
    read: dict[int, int]
    unfit: int


@dataclass(frozen=True)
class SnapshotWrite:
    """One commit. With ``changes`` of the columns, every row is decoded again and written."""

    spark: SparkSession
    connection: Connection
    location: Location
    columns: DecodedColumns
    changes: Sequence[str]

    def run(
        self,
        plan: SnapshotPlan,
        topic_state: TopicState,
        metadata: SnapshotMetadata,
        keyspace: Keyspace,
    ) -> SnapshotWritten:
        """Read the topic, merge with the base, commit."""
        context = self.spark.sparkContext
        size = context.accumulator(0)
        read, unfit = (context.accumulator({}, MinPerPartition()) for _ in range(2))

        def count(partition: int, records: int, more_bytes: int, more_unfit: int) -> None:
            size.add(more_bytes)
            read.add({partition: records})
            unfit.add({partition: more_unfit})

        def task(partition: int) -> SnapshotTask:
            deletes = topic_state.deletes_old_segments
            return SnapshotTask(
                uri=self.location.snapshots,
                base_delta_version=None if plan.base is None else plan.base.delta_version,
                partition=partition,
                keyspace=keyspace,
                first_offset=topic_state.starts[partition] if deletes else 0,
                columns=self.columns,
                count=partial(count, partition),
            )

        from pyspark.sql.types import StructType  # noqa: PLC0415 - on the driver only

        from lastword.snapshots.catalog.layout import delta_schema, snapshot_columns  # noqa: PLC0415

        schema = StructType.fromJson(delta_schema(snapshot_columns(self.columns.types)))
        written = sorted(plan.ends) if self.changes else plan.changed
        parts = [self._records(plan, p).mapInArrow(task(p), schema) for p in written]
        rows = reduce(_union, parts, self.spark.createDataFrame([], schema))
        self._commit(rows, plan, metadata)
        counts = read.value
        return SnapshotWritten(sum(counts.values()), size.value, counts, sum(unfit.value.values()))

    def _records(self, plan: SnapshotPlan, partition: int) -> DataFrame:
        """What is new in a partition, in one task, even if there is nothing."""
        start, end = plan.starts[partition], plan.ends[partition]
        if start == end:
            one = self.spark.range(0, 1, 1, 1)
            return one.mapInArrow(_no_records, one.schema)
        return topic_frame(
            self.spark,
            self.connection,
            self.location.topic,
            partition=partition,
            start=start,
            end=end,
        )

    def _commit(self, rows: DataFrame, plan: SnapshotPlan, metadata: SnapshotMetadata) -> None:
        writer = rows.write.format("delta").partitionBy("partition")
        writer = writer.option("userMetadata", encode_metadata(metadata))
        # Should the commit be tried twice, Delta takes the second for what it is.
        writer = writer.option("txnAppId", APPLICATION).option("txnVersion", str(plan.number))
        if plan.base is None or self.changes:
            writer = writer.mode("overwrite").option("overwriteSchema", "true")
            # Commits hold the positions. Delta refuses less than the 7 days it keeps deleted files.
            days = max(metadata.keep_ms // 86_400_000 + 1, 7)
            writer = writer.option("delta.logRetentionDuration", f"interval {days} days")
        elif plan.changed:
            chosen = ", ".join(map(str, plan.changed))
            writer = writer.mode("overwrite").option("replaceWhere", f"partition IN ({chosen})")
        else:
            writer = writer.mode("append")  # nothing changed; but that is known of a later moment
        writer.save(self.location.snapshots)


def _no_records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    return iter(())


def _union(above: DataFrame, below: DataFrame) -> DataFrame:
    return above.unionAll(below)
