"""Snapshots in tests: read back by deltalake alone, and compared with the state of the log."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Any, cast

import msgspec
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from lastword.clock import SYSTEM_CLOCK
from lastword.codecs.resolve import CodecSpec, key_codec
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.replicas.topic.topic_state import read_topic_state
from lastword.snapshots.catalog.confirmation import confirm
from lastword.snapshots.catalog.decoded_columns import decoded_columns
from lastword.snapshots.catalog.layout import arrow_schema, history_columns, snapshot_columns
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.merge import CHANGES
from lastword.snapshots.catalog.snapshot import SnapshotMetadata, encode_metadata
from lastword.snapshots.jobs.history_job import HistoryJob
from lastword.snapshots.jobs.history_task import HistoryTask
from lastword.snapshots.jobs.snapshot_job import SnapshotJob
from lastword.snapshots.jobs.snapshot_task import SnapshotTask
from lastword.snapshots.travel.history import HistoryMetadata, encode_history_metadata
from tests.support.local_tables.real_topic import Logged

BYTES = key_codec("bytes")


def job(
    spark: SparkSession, connection: Connection, location: Location, **options: object
) -> SnapshotJob:
    """A job on bytes, as the tests write them."""
    codecs = {"key": "bytes", "value": "bytes"}
    return SnapshotJob(spark, connection, location, **(codecs | options))  # type: ignore[arg-type]


def history_job(spark: SparkSession, connection: Connection, location: Location) -> HistoryJob:
    """The same for the history."""
    return HistoryJob(spark, connection, location, key="bytes", value="bytes")


def rows_of(location: Location, version: int | None = None) -> Mapping[bytes, bytes]:
    """Key and value of every row, by deltalake."""
    table = DeltaTable(location.snapshots, version=version).to_pyarrow_table()
    keys = table["key"].cast(pa.binary()).to_pylist()
    assert len(keys) == len(set(keys)), "a key has two rows"
    return dict(zip(keys, table["value"].cast(pa.binary()).to_pylist(), strict=True))


def take_without_spark(
    connection: Connection,
    location: Location,
    *,
    exact: bool = True,
    key: CodecSpec = "bytes",
    **changes: Any,
) -> SnapshotMetadata:
    """A full snapshot as the job's tasks make it, without a JVM; ``changes`` make it wrong."""
    keys = key_codec(key)
    columns = decoded_columns(keys, BYTES)
    with Admin(connection) as admin:
        topic_state = read_topic_state(admin, location.topic, SYSTEM_CLOCK.now_ms())
    metadata = SnapshotMetadata(
        number=0,
        run_id=uuid.uuid4().hex,
        kind="full",
        topic=location.topic,
        topic_id=topic_state.topic_id,
        cluster_id=topic_state.cluster_id,
        offsets=dict(topic_state.stable_ends),
        captured_at_ms=topic_state.at_ms,
        read_since_ms=topic_state.at_ms,
        delete_retention_ms=topic_state.delete_retention_ms,
        key_codec=keys.name,
        value_codec="bytes",
        keep_ms=86_400_000,
        answered_at_ms=SYSTEM_CLOCK.now_ms(),
        compaction_lag_ms=topic_state.compaction_lag_ms,
        leader_epochs=dict(topic_state.leader_epochs),
        key_suffix_bytes=keys.suffix_bytes,
    )
    batches: list[pa.RecordBatch] = []
    for partition in range(topic_state.partitions):
        ends = (topic_state.starts[partition], topic_state.stable_ends[partition])
        task = SnapshotTask(
            uri=location.snapshots,
            base_delta_version=None,
            partition=partition,
            keyspace=Keyspace(topic_state.partitions, keys.suffix_bytes),
            first_offset=0,
            columns=columns,
            count=lambda _records, _bytes, _unfit: None,
        )
        batches += task(_arrow(connection, location.topic, partition, ends))
    properties = CommitProperties(
        custom_metadata={
            "userMetadata": encode_metadata(msgspec.structs.replace(metadata, **changes))
        }
    )
    write_deltalake(
        location.snapshots,
        pa.Table.from_batches(batches, arrow_schema(snapshot_columns(columns.types))),
        mode="overwrite",
        partition_by=["partition"],
        commit_properties=properties,
    )
    if exact:
        confirm(location.snapshots, changes.get("run_id", metadata.run_id))
    return metadata


def keep_history_without_spark(connection: Connection, location: Location) -> HistoryMetadata:
    """What the history's job appends, planned and made by it, but without a JVM."""
    job: Any = HistoryJob(None, connection, location, key="bytes", value="bytes")  # type: ignore[arg-type]
    metadata, plan = job._plan()
    batches: list[pa.RecordBatch] = []
    for partition in plan.changed:
        ends = (plan.starts[partition], plan.ends[partition])
        task = HistoryTask(partition, decoded_columns(BYTES, BYTES), lambda _records, _unfit: None)
        batches += task(_arrow(connection, location.topic, partition, ends))
    text = {"userMetadata": encode_history_metadata(metadata)}
    write_deltalake(
        location.history,
        pa.Table.from_batches(batches, arrow_schema(history_columns({}))),
        mode="append",
        partition_by=["date"],
        commit_properties=CommitProperties(custom_metadata=text),
    )
    return cast("HistoryMetadata", metadata)


def changes_of(location: Location) -> list[Logged]:
    """Every row of the history in the order of the log, by deltalake."""
    table = DeltaTable(location.history).to_pyarrow_table()
    names = ("partition", "offset", "key", "value")
    return sorted(starmap(Logged, zip(*(table[name].to_pylist() for name in names), strict=True)))


def _arrow(
    connection: Connection, topic: str, partition: int, ends: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    for batch in KafkaLog(connection).read(topic, {partition: ends}):
        headers = [
            None if not each else [{"key": name, "value": value} for name, value in each]
            for each in batch.headers
        ]
        timestamps = (batch.timestamps * 1000).tolist()
        columns = (batch.keys, batch.values, headers, batch.offsets.tolist(), timestamps)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, CHANGES, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=CHANGES)
