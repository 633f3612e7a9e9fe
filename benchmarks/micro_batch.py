"""How long a micro-batch of few records takes: a pipeline beside plain Spark that only counts.

python benchmarks/micro_batch.py            one and two partitions, 20 records a second
python benchmarks/micro_batch.py --quick    a smoke test with small numbers

Plain Spark reads the same topic, counts the records in Python and keeps nothing. A pipeline reads,
counts by key in RocksDB, and commits results and positions in one transaction of Kafka.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena import report
from arena.cluster import cluster
from confluent_kafka import Producer

from lastword.home import default_home
from lastword.jvm.java import find_java
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.pipelines import Pipeline
from lastword.spark.session import build_session
from lastword.topics.creation import create_topic

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_INTERVAL_MS = 100
_PAUSE_S = 0.05
_KEYS = 7
_WARM_UP = 10
PARTS = ("latestOffset", "queryPlanning", "walCommit", "addBatch", "commitOffsets")


@contextmanager
def _few_records(servers: str, topic: str) -> Iterator[None]:
    """Twenty records a second, over a few keys."""
    stopping = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
        number = 0
        while not stopping.wait(_PAUSE_S):
            producer.produce(topic, key=b"key-%d" % (number % _KEYS), value=b"1")
            producer.poll(0)
            number += 1
        producer.flush(60)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield
    finally:
        stopping.set()
        writing.join()


def _medians(spark: SparkSession) -> dict[str, float]:
    """Milliseconds by part of a batch that had records, as Spark reports them."""
    (query,) = spark.streams.active
    batches = [each for each in query.recentProgress[_WARM_UP:] if each["numInputRows"]]
    names = ("triggerExecution", *PARTS)
    found = {
        name: statistics.median(each["durationMs"][name] for each in batches) for name in names
    }
    return found | {"batches": len(batches)}


def plain_spark(spark: SparkSession, servers: str, topic: str, seconds: float) -> dict[str, float]:
    """A stream that counts the records of each partition."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow  # noqa: PLC0415 - in a worker of Spark

        total = sum(batch.num_rows for batch in batches)
        yield pyarrow.RecordBatch.from_pydict({"total": [total]})

    stopping = threading.Event()

    def collect(frame: DataFrame, _number: int) -> None:
        try:
            frame.collect()
        except Exception:
            if not stopping.is_set():  # else it was stopped in the midst of a batch
                raise

    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "kafka.fetch.max.wait.ms": "20",  # as a pipeline has it; the default costs a second
    }
    counted = spark.readStream.format("kafka").options(**options).load().select("key", "value")
    writer = counted.mapInArrow(count, "total long").writeStream.foreachBatch(collect)
    writer = writer.trigger(processingTime=f"{_INTERVAL_MS} milliseconds")
    with tempfile.TemporaryDirectory() as checkpoint, _few_records(servers, topic):
        query = writer.option("checkpointLocation", Path(checkpoint).as_uri()).start()
        time.sleep(seconds)
        found = _medians(spark)
        stopping.set()
        query.stop()
    return found


def pipeline(spark: SparkSession, servers: str, topic: str, seconds: float) -> dict[str, float]:
    """A pipeline that counts by key."""
    connection = Connection(bootstrap_servers=servers)
    app = Pipeline(f"app-{topic}", connection=connection, commit_interval=f"{_INTERVAL_MS}ms")
    app.stream(topic).group_by_key().count("counts")
    with tempfile.TemporaryDirectory() as state, _few_records(servers, topic):
        running = threading.Thread(target=app.run, args=(spark,), kwargs={"state_dir": state})
        running.start()
        time.sleep(seconds)
        found = _medians(spark)
        app.stop()
        running.join()
    return found


def main() -> None:
    arguments = _arguments()
    figures: dict[str, Any] = {}
    rows = []
    with cluster(None) as servers:
        spark = build_session("micro-batch", home=default_home(), java=find_java(os.environ))
        for partitions in (1, 2):
            for contestant in (plain_spark, pipeline):
                topic = f"bench-{contestant.__name__}-{partitions}-{int(time.time())}"
                with Admin(Connection(bootstrap_servers=servers)) as admin:
                    create_topic(admin, topic, partitions=partitions)
                found = contestant(spark, servers, topic, arguments.seconds)
                name = f"{contestant.__name__.replace('_', ' ')}, {partitions} partition(s)"
                figures[name] = found
                shown = [f"{found[part]:.0f}" for part in ("triggerExecution", *PARTS)]
                rows.append([name, *shown, f"{found['batches']}"])
        spark.stop()
    columns = ["", "whole batch", *PARTS, "batches"]
    report.print_table("A micro-batch of few records, median in ms", columns, rows)
    report.save("micro_batch", figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=35, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds = 15
    return arguments


if __name__ == "__main__":
    main()
