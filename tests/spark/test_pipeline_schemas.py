"""Pipelines read and write the values of a schema registry."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lastword import Table
from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.pipelines import Pipeline
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from tests.support.pipelines import Bench

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
