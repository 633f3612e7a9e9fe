"""How many records Spark passes to Python at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lastword.kafka.admin import Admin

# A column of an Arrow batch holds 2 GiB. Half of that is left for what was compressed.
_COLUMN_BYTES = 1 << 30
_MOST_RECORDS = 10_000
_KAFKA_DEFAULT_BYTES = 1_048_588


def arrow_settings(admin: Admin, topics: Iterable[str]) -> Mapping[str, str]:
    """The number of records of a batch in which even the topics' largest records fit.

    Otherwise Spark checks the size of the batch after every record: measured, more than a quarter
    of its work between Kafka and Python.
    """
    settings = (admin.settings(topic) for topic in topics)
    largest = max(
        (int(each.get("max.message.bytes", _KAFKA_DEFAULT_BYTES)) for each in settings),
        default=_KAFKA_DEFAULT_BYTES,
    )
    records = max(1, min(_MOST_RECORDS, _COLUMN_BYTES // max(largest, 1)))
    return {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(records),
        "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),  # is never asked then
    }
