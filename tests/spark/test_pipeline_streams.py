"""Deduplication, joins, headers and transformations on real Spark and Kafka."""

from __future__ import annotations

import shutil

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, explode

from lastword.errors import PartitionCountError, TopicUnfitError
from lastword.pipelines import BatchReport, Pipeline
from lastword.pipelines.api.result import Result
from tests.support.on_spark.pipelines import PARTITIONS, Bench

COMPACTED = {"cleanup.policy": "compact"}


def two_of_each_paid(records: DataFrame) -> DataFrame:
    paid = records.where("get_json_object(CAST(value AS STRING), '$.price') > 5")
    return paid.withColumn("value", explode(array("value", "value")))


def build(bench: Bench, users: str) -> tuple[Pipeline, list[Result]]:
    app = bench.pipeline()
    orders = app.stream(bench.source)
    once = orders.deduplicate("id", "seen", within="1h")
    named = once.join(users, lambda order, user: order | user, "users")
    by_city = named.select_key(lambda key, value: value["city"]).group_by_key()
    bloomed = orders.deduplicate("id", "bloom", capacity=1_000, false_positive_rate=0.001)
    twice = orders.transform(two_of_each_paid, "twice", keys_stay=True)
    sent_by = orders.with_headers(lambda order, headers: (headers.get("by") or b"?").decode())
    return app, [
        twice.group_by_key().count("twice"),
        sent_by.group_by_key().latest("sent-by"),
        once.group_by_key().count("orders"),
        named.group_by_key().latest("last-order"),
        by_city.sum("price", "per-city"),
        bloomed.group_by_key().sum("price", "spent"),
    ]


def test_orders_are_counted_once_and_know_the_city_of_their_time(
    bench: Bench, spark: SparkSession
) -> None:
    users = f"{bench.source}-users"
    bench.admin.create(users, partitions=PARTITIONS, replication=1, settings=COMPACTED)
    bench.write([("u1", {"city": "Graz"}, 0), ("u1", {"city": "Linz"}, 50)], topic=users)
    orders = [
        ("u1", {"id": 1, "price": 10}, 10),
        ("u1", {"id": 1, "price": 10}, 20),
        ("u2", {"id": 2, "price": 5}, 30),
    ]
    reports: list[BatchReport] = []
    bench.write(orders)
    build(bench, users)[0].run(spark, once=True, on_batch=reports.append)
    _, (twice, sent_by, counts, last, per_city, spent) = build(bench, users)
    assert bench.table(per_city) == {"Graz": 10}

    shutil.rmtree(bench.directory / "state")
    bench.write([("u2", {"city": "Wien"}, 55), ("u2", None, 70)], topic=users)
    bench.write([orders[0], ("u2", {"id": 3, "price": 7}, 60), ("u1", {"id": 4, "price": 1}, 80)])
    bench.write([("u2", {"id": 5, "price": 3}, 90)], headers={"by": b"shop"})
    build(bench, users)[0].run(spark, once=True, on_batch=reports.append)
    assert bench.table(counts) == {"u1": 2, "u2": 3}
    assert bench.table(per_city) == {"Graz": 10, "Wien": 7, "Linz": 1}
    assert bench.table(spent) == {"u1": 11, "u2": 15}
    assert bench.table(last)["u2"] == {"id": 3, "price": 7, "city": "Wien"}
    assert bench.table(twice) == {"u1": 6, "u2": 2}
    assert bench.table(sent_by) == {"u1": "?", "u2": "shop"}
    assert sum(report.tally.duplicates for report in reports) == 4
    assert sum(report.tally.unmatched for report in reports) == 2

    wide = f"{bench.source}-wide"
    bench.admin.create(wide, partitions=PARTITIONS + 1, replication=1, settings=COMPACTED)
    with pytest.raises(PartitionCountError, match="same number of partitions"):
        build(bench, wide)[0].run(spark, once=True)
    with pytest.raises(TopicUnfitError, match="is not compacted"):
        build(bench, bench.source)[0].run(spark, once=True)
