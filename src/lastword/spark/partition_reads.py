"""How many records the tasks of each partition have read, counted by Spark."""

from __future__ import annotations

from pyspark.accumulators import AccumulatorParam


class MinPerPartition(AccumulatorParam[dict[int, int]]):  # type: ignore[misc]
    """Counts; for a task that ran twice, the smaller number: a log only loses records."""

    def zero(self, value: dict[int, int]) -> dict[int, int]:
        """Nothing was read."""
        return {}

    def addInPlace(self, value1: dict[int, int], value2: dict[int, int]) -> dict[int, int]:  # noqa: N802 - Spark's name
        """Partition by partition."""
        for partition, count in value2.items():
            value1[partition] = min(count, value1.get(partition, count))
        return value1
