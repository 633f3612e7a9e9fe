"""A range of one partition as a DataFrame, with committed records only, as in tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.spark.kafka_options import kafka_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SOURCE_OPTIONS: Mapping[str, str] = {
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    "kafka.isolation.level": "read_committed",
    "kafka.fetch.max.wait.ms": "20",
    "kafka.max.poll.records": "10000",
}
_COLUMNS = ("key", "value", "headers", "offset", "timestamp")


def topic_frame(
    spark: SparkSession,
    connection: Connection,
    topic: str,
    *,
    partition: int,
    start: int,
    end: int,
) -> DataFrame:
    """The records with ``start <= offset < end``, in one task."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - on the driver only

    reader = spark.read.format("kafka").options(**_SOURCE_OPTIONS)
    reader = reader.options(**kafka_options(connection))
    reader = reader.option("assign", json.dumps({topic: [partition]}))
    reader = reader.option("startingOffsets", json.dumps({topic: {str(partition): start}}))
    reader = reader.option("endingOffsets", json.dumps({topic: {str(partition): end}}))
    try:
        return reader.load().select(*_COLUMNS)
    except AnalysisException as error:
        raise ConfigError(
            f"this SparkSession cannot read Kafka: {error}",
            hint="build it with pipelines.spark_session.build_session(..., delta_at=...)",
        ) from error
