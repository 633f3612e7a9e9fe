"""The sources of a part as Spark DataFrames: a stream, or spans of offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lastword.errors import ConfigError
from lastword.kafka.groups.names import reading_group
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.run.spans import Span
from lastword.pipelines.task.task_input import COLUMNS, HEADERS
from lastword.records import TopicPartition
from lastword.spark.kafka_options import kafka_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

# Measured: the default wait of 500 ms costs a second in every batch that reaches the end of the
# log, and 500 records per poll cost two extra round trips each. Catching up needs large fetches.
SOURCE_OPTIONS: Mapping[str, str] = {
    "failOnDataLoss": "true",
    "kafka.isolation.level": "read_committed",
    "kafka.fetch.max.wait.ms": "20",
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(4 << 20),
}


def source_stream(
    spark: SparkSession,
    plan: TaskPlan,
    starts: Mapping[str, Mapping[int, int]],
    max_records: int | None,
) -> DataFrame:
    """All records from ``starts`` on, by topic and partition; at most ``max_records`` a batch."""
    options = {"subscribe": ",".join(sorted(plan.sources)), "startingOffsets": json.dumps(starts)}
    if max_records is not None:
        options["maxOffsetsPerTrigger"] = str(max_records)
    return _records(spark.readStream, plan, options)


def source_spans(
    spark: SparkSession, plan: TaskPlan, spans: Mapping[TopicPartition, Span]
) -> DataFrame:
    """The records of these spans."""
    assigned: dict[str, list[int]] = {}
    starts: dict[str, dict[int, int]] = {}
    ends: dict[str, dict[int, int]] = {}
    for (topic, partition), span in spans.items():
        assigned.setdefault(topic, []).append(partition)
        starts.setdefault(topic, {})[partition] = span.start
        ends.setdefault(topic, {})[partition] = span.end
    offsets = {"assign": assigned, "startingOffsets": starts, "endingOffsets": ends}
    options = {name: json.dumps(each) for name, each in offsets.items()}
    # With a new group for each batch, Spark could not reuse its consumers.
    options["kafka.group.id"] = reading_group(plan.application_id)
    return _records(spark.read, plan, options)


def _records(
    reader: DataFrameReader | DataStreamReader, plan: TaskPlan, options: Mapping[str, str]
) -> DataFrame:
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - on the driver only

    reader = reader.format("kafka").options(**SOURCE_OPTIONS).options(**options)
    reader = reader.options(**kafka_options(plan.connection))
    reader = reader.option("includeHeaders", str(plan.wants_headers).lower())
    try:
        records = reader.load()
    except AnalysisException as error:
        raise ConfigError(
            f"this SparkSession cannot read Kafka: {error}",
            hint='use spark-submit --jars "$(lastword pipeline jars)", or set spark.jars, '
            "or let the pipeline build its own session",
        ) from error
    unused = {"topic"} if plan.only_source is not None else set()  # the same in every record
    columns = [name for name in COLUMNS[:-1] if name not in unused]
    headers = [HEADERS] if plan.wants_headers else []
    return records.selectExpr(*columns, f"unix_millis(timestamp) AS {COLUMNS[-1]}", *headers)
