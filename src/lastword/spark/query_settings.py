"""Settings for one streaming query, whatever session it runs on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's own checkpoint of a pipeline lasts for one run. By default Hadoop starts a process
# (chmod) for each of its files, and there are checksums of checksums: measured, 220 ms of every
# batch instead of 35. Files that outlive the run, such as those of Delta, keep the defaults.
SCRATCH_CHECKPOINT: Mapping[str, str] = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}

_one_at_a_time = threading.Lock()


@contextmanager
def query_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Queries that are started inside get these settings; the session has its own back afterwards.

    Spark copies the settings of the session when a query starts. Another session for the query
    would hide it from the listeners and the list of queries of the user's session.
    """
    with _one_at_a_time:
        before = {name: spark.conf.get(name, None) for name in settings}
        try:
            for name, value in settings.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, own in before.items():
                if own is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, own)
