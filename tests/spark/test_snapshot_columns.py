"""Typed columns of snapshots on a real Spark: by the schema of the values, and as it changes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lastword.codecs import TypedCodec, upgrade
from lastword.codecs.base import Codec, Context
from lastword.codecs.registry import Registry
from lastword.codecs.row import RowCodec
from lastword.codecs.row_schema import RowSchema, SourceColumn, SourceColumns
from lastword.errors import SnapshotError
from lastword.kafka.connection import Connection
from lastword.pipelines import past_frame
from lastword.records import Position
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.jobs.history_job import HistoryJob
from lastword.snapshots.jobs.snapshot_runs import SnapshotRuns
from lastword.table.table import Table
from tests.support.local_tables.real_topic import RealTopic
from tests.support.on_spark.snapshots import changes_of, rows_of

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)


class Address(msgspec.Struct):
    street: str
    floors: list[int] = []


class Profile(msgspec.Struct):
    """Version 1."""

    user_name: str
    age: str
    address: Address | None = None
    tags: dict[str, Address] = {}
    joined: datetime.datetime | None = None
    alarm: Annotated[datetime.datetime, msgspec.Meta(tz=False)] | None = None
    born: datetime.date | None = None
    balance: Decimal | None = None
    photo: bytes | None = None


class ProfileWithEmail(Profile):
    """What a new field with a default makes of it; it states no version."""

    email: str = "none"


ProfileWithEmail.__name__ = "Profile"


class NewProfile(msgspec.Struct):
    """Version 2: a field has another name, another one another type, and most are gone."""

    name: str
    age: int

    @upgrade(from_version=1)
    def _renamed(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {"name": old["user_name"], "age": int(old["age"])}


NewProfile.__name__ = "Profile"


class Bench(NamedTuple):
    spark: SparkSession
    connection: Connection
    topic: RealTopic
    location: Location

    def runs(self, kind: type[Any]) -> SnapshotRuns:
        return self.runs_of(TypedCodec("json", kind))

    def runs_of(self, codec: Codec[Any]) -> SnapshotRuns:
        return SnapshotRuns(
            self.spark,
            self.connection,
            self.location,
            key="string",
            value=codec,
            keep_ms=86_400_000,
            keeps_history=True,
        )

    def snapshot(self, version: int | None = None) -> dict[str, Any]:
        return _values(DeltaTable(self.location.snapshots, version=version))

    def history(self) -> DeltaTable:
        return DeltaTable(self.location.history)


def _values(table: DeltaTable) -> dict[str, Any]:
    rows = table.to_pyarrow_table()
    return dict(
        zip(rows["decoded_key"].to_pylist(), rows["decoded_value"].to_pylist(), strict=True)
    )


@pytest.fixture
def bench(spark: SparkSession, connection: Connection, topic_name: str, tmp_path: Path) -> Bench:
    topic = RealTopic(connection, topic_name).create(partitions=2)
    return Bench(spark, connection, topic, Location(str(tmp_path), topic.name))


def test_columns_follow_the_schema_of_the_values(bench: Bench) -> None:
    encode = TypedCodec("json", Profile).encode
    full = Profile(
        "Ada",
        "36",
        Address("Main St", [1, 2]),
        {"home": Address("Side St")},
        MOMENT,
        MOMENT.replace(tzinfo=None),
        MOMENT.date(),
        Decimal("12.50"),
        b"\x00\xff",
    )
    # In both partitions of the topic, and one record that is no profile.
    bench.topic.produce((b"ada", encode(full)), (b"bob", encode(Profile("Bob", "7"))))
    bench.topic.produce((b"cy", b'{"user_name": 5}'), (b"dan", encode(Profile("Dan", "8"))))
    first, kept = bench.runs(Profile).take()
    assert (first.rows, first.unfit, first.column_changes) == (4, 1, [])
    assert kept is not None and (kept.records, kept.unfit) == (4, 1)
    found = bench.snapshot()
    assert found["cy"] is None
    assert found["ada"] == {
        "user_name": "Ada",
        "age": "36",
        "address": {"street": "Main St", "floors": [1, 2]},
        "tags": [("home", {"street": "Side St", "floors": []})],
        "joined": MOMENT,
        "alarm": MOMENT.replace(tzinfo=None),
        "born": MOMENT.date(),
        "balance": Decimal("12.50"),
        "photo": b"\x00\xff",
    }
    rows = bench.spark.read.format("delta").load(bench.location.snapshots)
    rows.createOrReplaceTempView("profiles")
    (row,) = bench.spark.sql(
        "SELECT decoded_value.tags['home'].street AS street, decoded_value.balance + 1 AS more,"
        " decoded_value.joined > timestamp'2026-01-02' AS since FROM profiles"
        " WHERE array_contains(decoded_value.address.floors, 2)"
    ).collect()
    assert (row.street, row.more, row.since) == ("Side St", Decimal("13.50"), True)
    assert rows_of(bench.location) == bench.topic.fold()
    with Table(
        bench.topic.name, connection=bench.connection, value="bytes", snapshots=bench.location.root
    ) as table:
        assert dict(table.items()) == {k.decode(): v for k, v in bench.topic.fold().items()}

    _a_new_field(bench, first.snapshot.delta_version)


def _a_new_field(bench: Bench, first_version: int) -> None:
    """Only one partition changes; rows of the other one are decoded again all the same."""
    encode = TypedCodec("json", ProfileWithEmail).encode
    bench.topic.produce((b"ada", encode(ProfileWithEmail("Ada", "37", email="a@b"))))
    second, _ = bench.runs(ProfileWithEmail).take()
    assert (second.kind, second.records, second.rows, second.unfit) == ("incremental", 1, 4, 1)
    assert second.column_changes == ["decoded_value.email is new"]
    emails = {key: value and value["email"] for key, value in bench.snapshot().items()}
    assert emails == {"ada": "a@b", "bob": "none", "dan": "none", "cy": None}
    assert "email" not in bench.snapshot(first_version)["ada"]
    history = bench.history().to_pyarrow_table()["decoded_value"].combine_chunks()
    assert sorted(map(str, history.field("email").to_pylist())) == ["None"] * 4 + ["a@b"]
    _other_types(bench)


def _other_types(bench: Bench) -> None:
    at = Position({p: bench.topic.end(p) for p in range(2)})
    bench.topic.produce((b"bob", TypedCodec("json", NewProfile).encode(NewProfile("Bob", 9))))
    with pytest.raises(SnapshotError, match="age was string and is long") as refused:
        bench.runs(NewProfile).take()
    assert "--full" in str(refused.value.hint)
    assert bench.snapshot()["ada"] == {"name": "Ada", "age": 37}, "the snapshot needs no history"

    codecs: dict[str, Any] = {"key": "string", "value": TypedCodec("json", NewProfile)}
    HistoryJob(bench.spark, bench.connection, bench.location, **codecs).run(full=True)
    rows = bench.history().to_pyarrow_table()
    ages = [each and each["age"] for each in rows["decoded_value"].to_pylist()]
    assert sorted(map(str, ages)) == ["36", "37", "7", "8", "9", "None"]
    assert changes_of(bench.location) == bench.topic.log()
    frame = past_frame(
        bench.spark,
        bench.topic.name,
        at,
        connection=bench.connection,
        snapshots=bench.location.root,
        value=TypedCodec("json", NewProfile),
    )
    past = {
        row.decoded_key: row.age
        for row in frame.select("decoded_key", "decoded_value.age").collect()
    }
    assert past == {"ada": 37, "bob": 7, "dan": 8, "cy": None}


def _described(**properties: str) -> dict[str, Any]:
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {
        "type": "object",
        "properties": fields,
        "required": ["name"],
        "additionalProperties": False,
    }


def test_columns_follow_a_json_schema_of_the_registry(
    bench: Bench, registry: EmbeddedRegistry
) -> None:
    schemas = Registry(registry.url, auto_register=True)
    context = Context(bench.topic.name, "value")
    old = schemas.json_schema(_described(name="string")).bound(context)
    bench.topic.produce((b"ada", old.encode({"name": "Ada"})), (b"cy", b"no schema"))
    first, _ = bench.runs_of(schemas.json_schema()).take()
    assert (first.rows, first.unfit) == (2, 1)
    assert bench.snapshot() == {"ada": {"name": "Ada"}, "cy": None}

    new = schemas.json_schema(_described(name="string", age="integer")).bound(context)
    bench.topic.produce((b"bob", new.encode({"name": "Bob", "age": 7})))
    second, _ = bench.runs_of(Registry(registry.url).json_schema()).take()
    assert second.column_changes == ["decoded_value.age is new"]
    assert bench.snapshot() == {
        "ada": {"name": "Ada", "age": None},
        "bob": {"name": "Bob", "age": 7},
        "cy": None,
    }


def test_columns_follow_those_of_a_captured_table(bench: Bench) -> None:
    kinds = {"id": "bigint", "price": "numeric(8,2)", "made": "timestamp with time zone"}
    columns = tuple(SourceColumn(name, kind, n) for n, (name, kind) in enumerate(kinds.items()))
    schema = RowSchema.first(SourceColumns(7, columns))
    codec = RowCodec(lambda: schema)
    rows = {
        "1": {"id": 1, "price": Decimal("9.90"), "made": MOMENT},
        "2": {"id": 2, "price": None, "made": "infinity"},
    }
    bench.topic.produce(*((key.encode(), codec.encode(row)) for key, row in rows.items()))
    first, kept = bench.runs_of(codec).take()
    assert kept is not None
    assert (first.rows, first.unfit, kept.unfit) == (2, 1, 1)
    assert bench.snapshot() == {"1": rows["1"], "2": {"id": 2, "price": None, "made": None}}

    schema = schema.followed(SourceColumns(7, (*columns, SourceColumn("tags", "text[]", 3))), 1)
    bench.topic.produce((b"3", codec.encode({"id": 3, "price": Decimal(5), "tags": ["new"]})))
    second, _ = bench.runs_of(codec).take()
    assert second.column_changes == ["decoded_value.tags is new"]
    frame = past_frame(
        bench.spark,
        bench.topic.name,
        Position({p: bench.topic.end(p) for p in range(2)}),
        connection=bench.connection,
        snapshots=bench.location.root,
    )
    found = frame.where("decoded_value.price > 6 or array_contains(decoded_value.tags, 'new')")
    assert {row.decoded_key for row in found.collect()} == {"1", "3"}
