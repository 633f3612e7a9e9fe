"""Spark's classes in an archive that Java maps into memory instead of reading 300 jars.

Measured: a session is there in less than half the time. Java checks the archive against its own
version and class path, and does without it when either differs.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from lastword.jvm.java import Java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

_WRITING_S = 180.0
# What it has to say concerns an archive that does not fit, which is no reason to worry anybody.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def archive_path(home: Path, java: Java, jars: Iterable[Path]) -> Path:
    """Where the archive for this Java, this PySpark and these jars is, once it was made."""
    parts = [str(java.executable.resolve()), str(java.version), pyspark.__version__]
    parts += [str(Path(pyspark.__file__).parent), *map(str, jars)]
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return home / "spark-classes" / f"{name}.jsa"


def options_to_use(archive: Path) -> Sequence[str]:
    """For Java: none when there is no archive."""
    if not archive.exists():
        return ()
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *_QUIET)


def options_to_make(archive: Path) -> Sequence[str]:
    """For Java: write what was loaded to ``archive`` when it ends."""
    return (f"-XX:ArchiveClassesAtExit={archive}", *_QUIET)


def load_classes(spark: SparkSession) -> None:
    """Have Spark load what a pipeline makes it load: a job, a streaming query, the Kafka source."""
    spark.range(10).mapInArrow(_as_it_is, "id long").collect()

    def batch(rows: DataFrame, batch_id: int) -> None:
        rows.select("value").mapInArrow(_as_it_is, "value long").collect()

    with tempfile.TemporaryDirectory(prefix="lastword-") as checkpoint:
        ticks = spark.readStream.format("rate").load().writeStream.foreachBatch(batch)
        ticks = ticks.trigger(availableNow=True).option("checkpointLocation", checkpoint)
        ticks.start().awaitTermination()
    # Nobody is asked for records: the schema is known without.
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:9", "subscribe": "nothing"}
    assert spark.read.format("kafka").options(**nowhere).load().columns  # noqa: S101 - loads it


def end_java(spark: SparkSession) -> None:
    """Stop the session and wait until its Java, which writes the archive at its end, is gone."""
    context: Any = type(spark.sparkContext)
    gateway = context._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_WRITING_S)
    # PySpark would go on talking to the Java that is gone.
    context._gateway = context._jvm = None


def put_in_place(made: Path, archive: Path) -> bool:
    """Give a whole archive its name; False when this Java could not write one."""
    if not made.exists():
        log.info("this Java writes no archive of classes; Spark starts without")
        return False
    made.replace(archive)
    return True


def _as_it_is(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches
