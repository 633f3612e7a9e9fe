"""Takes a snapshot of a topic: one Spark task per partition, one Delta commit for all of it."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.resolve import CodecSpec, codecs_for
from lastword.errors import SnapshotError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.replicas.topic.protection import ObservedProtection, protection_seen
from lastword.replicas.topic.topic_state import TopicState, read_topic_state
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot import (
    Snapshot,
    SnapshotKind,
    SnapshotMetadata,
)
from lastword.snapshots.jobs.snapshot_write import SnapshotWrite
from lastword.snapshots.travel.log_completeness import log_completeness
from lastword.snapshots.travel.truncation import why_torn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lastword.snapshots.catalog.decoded_columns import DecodedColumns
    from lastword.snapshots.catalog.snapshot_planning import SnapshotPlan

log = logging.getLogger(__name__)

DEFAULT_KEEP_MS = 7 * 86_400_000


@dataclass(frozen=True)
class SnapshotReport:
    """What a snapshot came to; ``records`` and ``bytes`` are what was read from the topic.

    ``unfit`` counts the keys and values, among the rows written, that do not fit their schema or
    cannot be read: their raw bytes are kept, and their decoded column is null. ``column_changes``
    says how the columns differ from those of the last snapshot.
    """

    snapshot: Snapshot
    kind: SnapshotKind
    reason: str
    records: int
    bytes: int
    rows: int
    unfit: int
    column_changes: list[str]
    files_deleted: int
    seconds: float


class SnapshotJob:
    """Snapshots of one topic, one after the other; ``run`` takes one.

    The first is full, the next ones read only what changed, unless the last one is too old for
    that. Killed at any moment, it leaves the last snapshot unchanged, and the next run continues.
    """

    def __init__(
        self,
        spark: SparkSession,
        connection: Connection,
        location: Location,
        *,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
        keep_ms: int = DEFAULT_KEEP_MS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        from lastword.snapshots.catalog.snapshot_catalog import Catalog  # noqa: PLC0415 - loads deltalake

        self._spark = spark
        self._connection = connection
        self._log_source = KafkaLog(connection)
        self._location = location
        self._key, self._value = codecs_for(location.topic, key, value)
        self._keep_ms = keep_ms
        self._clock = clock
        self._catalog = Catalog(location.snapshots)

    def run(self, *, full: bool = False) -> SnapshotReport:
        """Take one snapshot; raises SnapshotError, and changes nothing, if it cannot."""
        from lastword.snapshots.catalog.decoded_columns import decoded_columns  # noqa: PLC0415
        from lastword.snapshots.catalog.snapshot_planning import plan_snapshot  # noqa: PLC0415

        started = self._clock.monotonic()
        with Admin(self._connection) as admin:
            topic_state = read_topic_state(admin, self._location.topic, self._clock.now_ms())
            answered_at_ms = self._clock.now_ms()
        newest = self._catalog.newest()
        plan = plan_snapshot(
            newest,
            topic_state,
            key_codec=self._key.name,
            key_suffix_bytes=self._key.suffix_bytes,
            value_codec=self._value.name,
            now_ms=self._clock.now_ms(),
            torn=None
            if newest is None
            else why_torn(self._log_source, topic_state, newest.metadata),
            full=full,
        )
        log.info("%s: a %s snapshot: %s", self._location.topic, plan.kind, plan.reason)
        metadata = self._metadata(plan, topic_state, answered_at_ms)
        columns = decoded_columns(self._key, self._value)
        changes = self._column_changes(plan, columns)
        write = SnapshotWrite(self._spark, self._connection, self._location, columns, changes)
        keyspace = Keyspace(topic_state.partitions, self._key.suffix_bytes)
        written = write.run(plan, topic_state, metadata, keyspace)
        before = protection_seen(topic_state, answered_at_ms)
        snapshot = self._confirmed(self._committed(metadata), plan, before, written.read)
        if written.unfit:
            log.warning(
                "%s: %d keys or values cannot be decoded; the snapshot keeps their bytes",
                self._location.topic,
                written.unfit,
            )
        return SnapshotReport(
            snapshot=snapshot,
            kind=plan.kind,
            reason=plan.reason,
            records=written.records,
            bytes=written.bytes,
            rows=self._catalog.size(snapshot).rows,
            unfit=written.unfit,
            column_changes=changes,
            files_deleted=self._catalog.vacuum(),
            seconds=self._clock.monotonic() - started,
        )

    def _column_changes(self, plan: SnapshotPlan, columns: DecodedColumns) -> list[str]:
        """What differs from the base; then all its rows are decoded again, from their bytes."""
        if plan.base is None:
            return []
        from lastword.snapshots.catalog.column_changes import column_changes  # noqa: PLC0415
        from lastword.snapshots.catalog.layout import snapshot_columns  # noqa: PLC0415

        found = column_changes(self._catalog.columns(plan.base), snapshot_columns(columns.types))
        if found:
            log.info("%s: the columns change: %s", self._location.topic, "; ".join(found))
        return found

    def _metadata(
        self, plan: SnapshotPlan, topic_state: TopicState, answered_at_ms: int
    ) -> SnapshotMetadata:
        base_retention_ms = (
            topic_state.delete_retention_ms
            if plan.base is None
            else plan.base.metadata.delete_retention_ms
        )
        return SnapshotMetadata(
            number=plan.number,
            run_id=uuid.uuid4().hex,
            kind=plan.kind,
            topic=self._location.topic,
            topic_id=topic_state.topic_id,
            cluster_id=topic_state.cluster_id,
            offsets=plan.ends,
            captured_at_ms=topic_state.at_ms,
            read_since_ms=plan.read_since_ms,
            delete_retention_ms=min(base_retention_ms, topic_state.delete_retention_ms),
            key_codec=self._key.name,
            value_codec=self._value.name,
            keep_ms=self._keep_ms,
            answered_at_ms=answered_at_ms,
            compaction_lag_ms=topic_state.compaction_lag_ms,
            leader_epochs=dict(topic_state.leader_epochs),
            key_suffix_bytes=self._key.suffix_bytes,
        )

    def _confirmed(
        self,
        snapshot: Snapshot,
        plan: SnapshotPlan,
        before: ObservedProtection,
        read: dict[int, int],
    ) -> Snapshot:
        """The snapshot, marked exact if the log that was read proves it."""
        from lastword.snapshots.catalog.confirmation import confirm, is_exact  # noqa: PLC0415

        metadata = snapshot.metadata
        with Admin(self._connection) as admin:
            topic_state = read_topic_state(admin, metadata.topic, self._clock.now_ms())
            after = protection_seen(topic_state, self._clock.now_ms())
            found = log_completeness(admin, metadata.topic, [before, after])
        same_log = (
            topic_state.topic_id == metadata.topic_id
            and topic_state.leader_epochs == metadata.leader_epochs
        )
        ends = after.ends
        if same_log and is_exact(plan.starts, plan.ends, read=read, ends_after=ends, found=found):
            confirm(self._catalog.uri, metadata.run_id)
            return msgspec.structs.replace(snapshot, exact=True)
        log.info("%s: snapshot %d is not for time travel", metadata.topic, metadata.number)
        return snapshot

    def _committed(self, metadata: SnapshotMetadata) -> Snapshot:
        """The snapshot that was just written, if it is the newest, and sound."""
        newest = self._catalog.newest()
        if newest is None or newest.metadata.run_id != metadata.run_id:
            raise SnapshotError(
                f"another job has taken snapshot {metadata.number} of {metadata.topic} meanwhile",
                hint="one job per topic and location is enough; nothing is lost",
            )
        if not newest.sound:
            raise SnapshotError(
                f"reading {metadata.topic} took longer than its tombstones live "
                f"(delete.retention.ms is {metadata.delete_retention_ms}): deletes may be missing, "
                "so this snapshot will not be used",
                hint="raise delete.retention.ms; `lastword topic check` names a good value",
            )
        return newest
