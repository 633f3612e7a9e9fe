"""A session that is running already: pipelines use it, and leave it as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from lastword.spark.query_settings import query_settings
from lastword.spark.session import session_for

SETTINGS = {"spark.sql.shuffle.partitions": "7", "fs.file.impl.disable.cache": "true"}


def test_a_session_has_its_own_settings_back_once_the_query_has_started(
    spark: SparkSession,
) -> None:
    own = spark.conf.get("spark.sql.shuffle.partitions")
    with query_settings(spark, SETTINGS):
        assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS
    assert spark.conf.get("spark.sql.shuffle.partitions") == own
    assert spark.conf.get("fs.file.impl.disable.cache", None) is None


def test_a_pipeline_in_another_thread_neither_replaces_nor_stops_the_session(
    spark: SparkSession,
) -> None:
    """A new thread has no active session, and a builder would return this one."""

    def used() -> SparkSession:
        with session_for("elsewhere") as found:
            return found

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(used).result() is spark
    assert spark.range(3).count() == 3
