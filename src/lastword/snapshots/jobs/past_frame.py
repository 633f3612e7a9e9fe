"""A table at a past moment as a DataFrame: from snapshots and history, exact or refused.

Never from the log: a DataFrame is computed when it is used, and by then the log may be compacted.
Versions of a Delta table do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.base import Codec
from lastword.codecs.resolve import CodecSpec, codecs_for
from lastword.errors import SnapshotError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY
from lastword.replicas.topic.protection import protection_seen
from lastword.replicas.topic.topic_state import TopicState, read_topic_state
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot import Snapshot
from lastword.snapshots.travel.moments import Moment
from lastword.snapshots.travel.past_sources import PastSources, Target, read_past_sources
from lastword.snapshots.travel.replay import ReplayEnd

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from lastword.snapshots.travel.history import HistoryCommit

NO_ROWS = (None, b"", FENCE_KEY)
"""The keys of records that belong to no table."""


def past_frame(
    spark: SparkSession,
    topic: str,
    moment: Moment,
    *,
    connection: Connection,
    snapshots: str,
    key: CodecSpec = "string",
    value: CodecSpec | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> DataFrame:
    """The rows of a table as of ``moment``, with the columns of a snapshot.

    ``snapshots`` is the location of all snapshots and histories. Raises MomentGoneError if they
    cannot give the exact rows.

    With ``value`` every row is decoded by this codec: old rows have the columns of the schema that
    reads now. Without it the columns are those that were written then.
    """
    location = Location(snapshots, topic)
    codecs = codecs_for(topic, key, "bytes" if value is None else value)
    suffix_bytes = codecs[0].suffix_bytes
    with Admin(connection) as admin:
        topic_state = read_topic_state(admin, topic, clock.now_ms())
    now = protection_seen(topic_state, clock.now_ms())
    log_source = KafkaLog(connection)
    known = read_past_sources(log_source, location, topic_state, now, key_suffix_bytes=suffix_bytes)
    target = known.resolve(topic, moment)
    belonging = RecordCheck(Keyspace(topic_state.partitions, suffix_bytes))
    frames = _Frames(spark, location, belonging, raw=value is not None)
    rows = _rows(frames, known, target, topic_state)
    return rows if value is None else _decoded(rows, *codecs)


def _rows(
    frames: _Frames, known: PastSources, target: Target, topic_state: TopicState
) -> DataFrame:
    if target.snapshot is not None:
        return frames.snapshot(target.snapshot, target.cuts)
    if (
        known.history
        and not topic_state.deletes_old_segments
        and not any(topic_state.starts.values())
    ):
        base = known.base_of(target.cuts)
        for begin in [base, None] if base is not None else [None]:
            found = frames.replayed(begin, known.history[0], target.cuts)
            if found is not None:
                return found
    raise known.gone(target.what, known.now.at_ms)


@dataclass(frozen=True)
class _Frames:
    """The Delta tables of one topic as DataFrames; ``raw`` ones have no decoded columns."""

    spark: SparkSession
    location: Location
    belonging: RecordCheck
    raw: bool

    def snapshot(self, snapshot: Snapshot, partitions: Iterable[int]) -> DataFrame:
        """Its rows of these partitions."""
        from pyspark.sql import functions as f  # noqa: PLC0415 - on the driver only

        rows = self._load(self.location.snapshots, snapshot.delta_version)
        return rows.where(f.col("partition").isin(*partitions))

    def replayed(
        self, base: Snapshot | None, history: HistoryCommit, cuts: Mapping[int, ReplayEnd]
    ) -> DataFrame | None:
        """A base, or an empty table, and the changes after it; None if some may be missing."""
        metadata = history.metadata
        starts = {p: 0 if base is None else base.metadata.offsets[p] for p in cuts}
        changes = self._load(self.location.history, history.delta_version)
        ends = _ends(changes, starts, metadata.offsets, cuts)
        if ends is None:
            return None
        changes = changes.where(_within({p: (start, ends[p]) for p, start in starts.items()}))
        counts = {row[0]: row[1] for row in changes.groupBy("partition").count().collect()}
        for p, start in starts.items():
            if counts.get(p, 0) == ends[p] - start:
                continue
            if start < max(metadata.held_from[p], history.complete_from[p]):
                return None
        changes = changes.mapInArrow(self.belonging, changes.schema)
        rows = changes if base is None else _together(changes, self.snapshot(base, cuts))
        return _newest_of_each_key(rows)

    def _load(self, uri: str, delta_version: int) -> DataFrame:
        reader = self.spark.read.format("delta").option("versionAsOf", str(delta_version))
        rows = reader.load(uri).drop("date")
        return rows.drop("decoded_key", "decoded_value") if self.raw else rows


@dataclass(frozen=True)
class RecordCheck:
    """Keeps the records that belong to a table: those with a key, in the partition of the key."""

    keyspace: Keyspace

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """On an executor."""
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415

        for batch in batches:
            keys = batch.column("key").to_pylist()
            partitions = batch.column("partition").to_numpy(zero_copy_only=False)
            belongs = np.array([key not in NO_ROWS for key in keys], dtype=bool)
            for partition in np.unique(partitions):
                places = np.flatnonzero((partitions == partition) & belongs)
                of_it = [keys[i] for i in places]
                strays = self.keyspace.misplaced(of_it, int(partition))
                belongs[places[strays]] = False
            yield batch.filter(pa.array(belongs))


def _together(changes: DataFrame, base: DataFrame) -> DataFrame:
    """Rows of both, with the columns of either; a schema may have grown between them."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - on the driver only

    try:
        return changes.unionByName(base, allowMissingColumns=True)
    except AnalysisException as error:
        raise SnapshotError(
            f"a snapshot and the history after it have different columns: {error}",
            hint="give value=, which decodes all rows by one schema",
        ) from error


def _decoded(rows: DataFrame, key: Codec[Any], value: Codec[Any]) -> DataFrame:
    from pyspark.sql.types import StructType  # noqa: PLC0415 - on the driver only

    from lastword.snapshots.catalog.decoded_columns import decoded_columns  # noqa: PLC0415
    from lastword.snapshots.catalog.layout import delta_schema, snapshot_columns  # noqa: PLC0415

    columns = decoded_columns(key, value)
    kinds = snapshot_columns(columns.types)

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield columns.rows(batch, kinds)[0]

    return rows.mapInArrow(decode, StructType.fromJson(delta_schema(kinds)))


def _ends(
    changes: DataFrame,
    starts: Mapping[int, int],
    held: Mapping[int, int],
    cuts: Mapping[int, ReplayEnd],
) -> dict[int, int] | None:
    """Where each partition is cut; None where only the log would tell."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - on the driver only

    found: dict[int, int] = {}
    time_ms = next(iter(cuts.values())).time_ms
    if time_ms is not None:
        ranges = {p: (max(starts[p], cut.floor), cut.ceiling) for p, cut in cuts.items()}
        later = changes.where(_within(ranges) & (f.unix_millis("timestamp") > time_ms))
        rows = later.groupBy("partition").agg(f.min("offset")).collect()
        found = {row[0]: row[1] for row in rows}
    ends = {p: found.get(p, cut.ceiling) for p, cut in cuts.items()}
    beyond = any(starts[p] < end and end > held[p] for p, end in ends.items())
    return None if beyond else ends


def _within(ranges: Mapping[int, tuple[int, int]]) -> Column:
    from pyspark.sql import functions as f  # noqa: PLC0415 - on the driver only

    offset = f.col("offset")
    each = [
        (f.col("partition") == p) & (offset >= start) & (offset < end)
        for p, (start, end) in ranges.items()
    ]
    return reduce(lambda one, other: one | other, each)


def _newest_of_each_key(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f  # noqa: PLC0415 - on the driver only

    others = [name for name in rows.columns if name not in {"key", "partition"}]
    last = f.max_by(f.struct(*others), f.col("offset")).alias("last")
    newest = rows.groupBy("partition", "key").agg(last).select("key", "partition", "last.*")
    return newest.where(f.col("value").isNotNull()).select(*rows.columns)
