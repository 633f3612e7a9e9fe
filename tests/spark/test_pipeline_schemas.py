"""Pipelines read and write the keys and values of a schema registry."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lastword import Table
from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.resolve import codec, key_codec
from lastword.pipelines import Pipeline, tumbling
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.topics.creation import create_topic
from tests.support.on_spark.pipelines import NOON_MS, Bench

AGE = {"name": "age", "type": "int", "default": -1}
PROTO = 'syntax = "proto3"; message Sum { string name = 1; int64 total = 2; }'


def user(*fields: dict[str, Any]) -> dict[str, Any]:
    name = {"name": "name", "type": "string"}
    return {"type": "record", "name": "User", "fields": [name, *fields]}


def test_events_of_two_versions_are_folded_into_avro_and_written_as_protobuf(
    bench: Bench, spark: SparkSession, registry: EmbeddedRegistry
) -> None:
    schemas = Registry(registry.url, auto_register=True)
    events = Context(bench.source, "value")
    old, new = (schemas.avro(schema).bound(events) for schema in (user(), user(AGE)))
    bench.write(
        [
            ("a", old.encode({"name": "Ada"}), 1),
            ("b", new.encode({"name": "Bob", "age": 7}), 2),
            ("a", new.encode({"name": "Ada", "age": 36}), 3),
            ("b", b"not avro", 4),
        ]
    )
    data = new.encode({"name": "Cy", "age": 9})
    bench.write([("c", data[5:], 5)], headers={"__value_schema_id": data[:5]})
    app: Pipeline = bench.pipeline()
    stream = app.stream(bench.source, value=schemas.avro(user(AGE)))
    latest = stream.group_by_key().latest("latest")
    sums = f"{bench.source}-sums"
    doubled = stream.map_values(lambda value: {"name": value["name"], "total": value["age"] * 2})
    doubled.to_table(sums, value=schemas.protobuf(PROTO, id_in="header"))
    app.run(spark, once=True)
    assert bench.table(latest) == {
        "a": {"name": "Ada", "age": 36},
        "b": {"name": "Bob", "age": 7},
        "c": {"name": "Cy", "age": 9},
    }
    with Table(sums, connection=bench.connection, value=schemas.protobuf()) as table:
        assert dict(table.items()) == {
            "a": {"name": "Ada", "total": 72},
            "b": {"name": "Bob", "total": 14},
            "c": {"name": "Cy", "total": 18},
        }
        for entry in table.raw.scan():
            assert [name for name, _ in entry.headers] == ["__value_schema_id"]
    assert schemas.client.versions(f"{latest.topic}-value") == [1]


KEY = {"type": "record", "name": "Place", "fields": [{"name": "id", "type": "int"}]}
CITIES = {"type": "record", "name": "City", "fields": [{"name": "city", "type": "string"}]}


def test_keys_with_a_schema_are_grouped_joined_selected_and_written(
    bench: Bench, spark: SparkSession, registry: EmbeddedRegistry
) -> None:
    schemas = Registry(registry.url, auto_register=True)
    keys = schemas.avro(KEY)
    coder = keys.bound(Context(bench.source, "key"))
    one, two = (coder.encode({"id": number}) for number in (1, 2))
    cities = f"{bench.source}-cities"
    create_topic(bench.admin, cities, partitions=3)
    with Table(cities, connection=bench.connection, key=keys, value=schemas.avro(CITIES)) as table:
        table.put({"id": 1}, {"city": "Paris"}, timestamp_ms=NOON_MS)
    bench.write([(one, {"n": 1}, 1), (two, {"n": 2}, 2), (one, {"n": 3}, 3), (b"bad", {}, 4)])
    app: Pipeline = bench.pipeline()
    stream = app.stream(bench.source, key=keys)
    latest = stream.group_by_key().latest("latest")
    minutes = stream.group_by_key().windowed_by(tumbling("60s")).count("minutes")
    joined, out = f"{bench.source}-joined", f"{bench.source}-out"
    with_city = stream.join(
        cities, lambda value, row: value | row, "by-city", table_value=schemas.avro(CITIES)
    )
    with_city.to_table(joined)
    moved = stream.filter(lambda key, _: key["id"] < 3).select_key(
        lambda key, _: {"id": key["id"] + 10}
    )
    moved.to_table(out)
    counts = moved.group_by_key().count("moved")
    app.run(spark, once=True)

    by_id = schemas.avro()  # with the schema that the pipeline has registered
    for topic, expected in (
        (latest.topic, {1: {"n": 3}, 2: {"n": 2}}),
        (joined, {1: {"n": 3, "city": "Paris"}}),
        (out, {11: {"n": 3}, 12: {"n": 2}}),
    ):
        with Table(topic, connection=bench.connection, key=by_id, on_bad="skip") as table:
            assert {key["id"]: value for key, value in table.items()} == expected
            assert table.get({"id": next(iter(expected))}) == expected[next(iter(expected))]
            assert table.get({"id": 99}) is None
    windows = {
        key_codec(minutes.key).decode(key).key["id"]: codec("int64").decode(value)
        for key, value in bench.rows(minutes.topic or "").items()
    }
    assert windows == {1: 2, 2: 1}
    moves = bench.rows(counts.topic or "").items()
    assert {coder.decode(key)["id"]: value[-1] for key, value in moves} == {11: 2, 12: 1}
