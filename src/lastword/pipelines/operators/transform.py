"""Applies Spark functions to the records of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.errors import PipelineError
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.records import FENCE_KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transformed_name(topic: str, name: str) -> str:
    """The name of the stream that ``name`` derives from a topic.

    A topic name cannot contain a slash.

    >>> transformed_name("orders", "priced")
    'orders/priced'
    """
    return f"{topic}/{name}"


def with_transforms(records: DataFrame, plan: TaskPlan) -> DataFrame:
    """A batch's records, and what the pipeline's functions derive from them.

    The original records stay in the batch: they say how far it reaches, even if a function drops
    all of them.
    """
    together = records
    for source in plan.transforms.values():
        together = together.unionByName(_transformed(records, source))
    return together


def _transformed(records: DataFrame, source: SourcePlan) -> DataFrame:
    from pyspark.sql import functions as spark  # noqa: PLC0415 - on the driver only

    if source.transform is None:
        raise TypeError(f"{source.topic} has no transform")
    rows = ~spark.col("key").eqNullSafe(spark.lit(bytearray(FENCE_KEY)))
    made = source.transform(records.where((spark.col("topic") == source.root) & rows))
    missing = sorted(set(records.columns) - set(made.columns))
    if missing:
        raise PipelineError(
            f"the result of transform() for {source.topic} lacks {', '.join(missing)}",
            hint="keep these columns: key, value, topic, partition, offset and timestamp_ms",
        )
    made = made.withColumn("topic", spark.lit(source.topic))
    return made.select([made[name].cast(records.schema[name].dataType) for name in records.columns])
