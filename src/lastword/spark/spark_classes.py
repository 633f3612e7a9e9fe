"""Spark's classes in an archive, because Java would read 300 jars to load them.

Measured: a session starts in a third to two thirds of the time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from lastword.home import HomeFolder
from lastword.jvm.class_archive import ClassArchive
from lastword.jvm.jar_set import Progress
from lastword.jvm.java import Java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def spark_archive(home: Path, java: Java, jars: Iterable[Path]) -> ClassArchive:
    """The archive for this PySpark with these jars."""
    # By its real path, as Java has it: a linked environment uses the same archive.
    parts = [pyspark.__version__, str(Path(pyspark.__file__).resolve().parent), *map(str, jars)]
    directory = home / HomeFolder.SPARK_CLASSES
    return ClassArchive.of(directory, java, "spark", parts, command="lastword pipeline prepare")


def load_classes(spark: SparkSession) -> None:
    """Make Spark load the classes of a pipeline: a job, a streaming query, the Kafka source."""
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


def end_java(
    spark: SparkSession, archive: ClassArchive, made: Path, progress: Progress | None = None
) -> None:
    """Stop the session and wait until its Java, which writes ``made`` at its end, is gone.

    Raises JavaError when that takes too long.
    """
    context: Any = type(spark.sparkContext)
    gateway = context._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    # PySpark would continue to use the Java process that has ended.
    context._gateway = context._jvm = None
    archive.wait_for(gateway.proc, made, progress)


def _as_it_is(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches
