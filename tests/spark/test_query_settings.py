"""Settings that a streaming query gets, and its session does not keep."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lastword.spark.query_settings import query_settings

SETTINGS = {"spark.sql.shuffle.partitions": "7", "fs.file.impl.disable.cache": "true"}


def test_a_session_has_its_own_settings_back_once_the_query_has_started(
    spark: SparkSession,
) -> None:
    own = spark.conf.get("spark.sql.shuffle.partitions")
    with query_settings(spark, SETTINGS):
        assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS
    assert spark.conf.get("spark.sql.shuffle.partitions") == own
    assert spark.conf.get("fs.file.impl.disable.cache", None) is None
