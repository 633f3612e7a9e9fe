"""A SparkSession that can read Kafka, on this machine or a cluster, quick to start and quiet."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from lastword.errors import ConfigError
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet, Progress
from lastword.jvm.java import Java

SPARK_KAFKA_JARS = JarSet(
    "spark-kafka-4.2.0",
    (
        Coordinate("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0", transitive=False),
        # Differs from 4.2.0, which not every repository has, only where Kafka's delegation
        # tokens are concerned; those are switched off below.
        Coordinate(
            "org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", transitive=False
        ),
        Coordinate("org.apache.kafka", "kafka-clients", "3.9.2", transitive=False),
        Coordinate("org.apache.commons", "commons-pool2", "2.13.1", transitive=False),
    ),
)

_SETTINGS: Mapping[str, str] = {
    "spark.security.credentials.kafka.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A task is a partition's state and transaction: a second attempt beside it only waits.
    "spark.speculation": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.driver.memory": "1g",
}

_LOG4J = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark %p %c{1}: %m%n
"""


def build_session(
    application_id: str,
    *,
    home: Path,
    java: Java,
    master: str = "local[*,4]",
    settings: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SparkSession:
    """A session of our own; ``settings`` win over ours. Stop it when the pipeline has ended."""
    jars = SPARK_KAFKA_JARS.resolve(home, java, progress=progress)
    # Read by PySpark when it starts. Workers are to be this Python, where lastword is installed.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["JAVA_HOME"] = str(java.executable.resolve().parent.parent)
    log4j = _log_settings(home)
    options = dict(_SETTINGS) | {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}",
        "spark.local.dir": tempfile.gettempdir(),
    }
    builder = SparkSession.builder.appName(application_id).master(master)
    for name, value in (options | dict(settings or {})).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def require_kafka(spark: SparkSession) -> None:
    """Refuse a session of the user's that cannot read Kafka, and say what it lacks."""
    found = spark.conf.get("spark.jars", "") + spark.conf.get("spark.jars.packages", "")
    if "spark-sql-kafka" not in (found or ""):
        raise ConfigError(
            "this SparkSession has no Kafka source",
            hint="start it with spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:"
            "4.2.0, or let the pipeline build its own session",
        )


def _log_settings(home: Path) -> Path:
    path = home / "spark-log4j2.properties"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_LOG4J, encoding="utf-8")
    return path
