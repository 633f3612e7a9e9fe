"""Reads of past moments from the versions that a table keeps locally: exact, or refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from lastword.clock import Clock
from lastword.errors import ConfigError, MomentGoneError, NotReadyError, StoreError
from lastword.kafka.admin import Admin
from lastword.keyspace import Keyspace
from lastword.records import Position, Record, Version
from lastword.replicas.replica import Replica
from lastword.replicas.replica_set import ReplicaSet
from lastword.replicas.versions.past_builder import PastBuilder
from lastword.replicas.versions.past_coverage import NotCovered, version_at
from lastword.replicas.versions.versions import KeyVersion, VersionCut, decode_past, versions_of
from lastword.rows import NEVER_DUE_MS, decode_row, is_due
from lastword.snapshots.travel.moments import Moment, as_milliseconds, time_of
from lastword.table.entry import RawEntry, raw_entry
from lastword.table.scan import Shape
from lastword.table.serving import Serving

T = TypeVar("T")

_WAIT_S = 10.0


def refuse_foreign(moment: Moment, topic_id: str) -> None:
    """Raise MomentGoneError for a position of a topic that was deleted and created again."""
    if isinstance(moment, Position) and moment.is_foreign_to(topic_id):
        raise MomentGoneError(
            f"the position {moment} belongs to a topic that was deleted",
            hint=f"the topic that has its name now has the id {topic_id}",
        )


class VersionReads:
    """Answers for one key at a past moment, in bytes. Safe to use from any thread."""

    def __init__(
        self,
        replicas: ReplicaSet,
        keyspace: Keyspace,
        admin: Admin,
        serving: Serving,
        clock: Clock,
    ) -> None:
        self._replicas = replicas
        self._keyspace = keyspace
        self._admin = admin
        self._serving = serving
        self._clock = clock

    def get(self, key: bytes, moment: Moment) -> RawEntry | None:
        """The key's entry at that moment, or None if it was absent."""
        return self.read(key, moment, raw_entry)

    def read(self, key: bytes, moment: Moment, shape: Shape[T]) -> T | None:
        """The same, as ``shape`` gives it.

        Raises MomentGoneError, or NotReadyError where a retry may help.
        """
        replica = self._replica(key)
        cut = self._cut(moment, replica)
        past_builder = _past_builder(replica)
        with self._replicas.one_moment((replica.partition,)):
            row, stored = _stored(replica, key)
            coverage, unsound = past_builder.coverage, replica.unsound
        if unsound:
            raise NotReadyError(
                f"{self._replicas.topic} may hold deleted keys until a sweep has finished",
                hint="try again in a moment; delete.retention.ms may be too short for this table",
            )
        if coverage.gap_at_ms is not None:
            raise NotReadyError(
                f"the past of {self._replicas.topic} is not known until its end has been looked up",
                hint="try again in a second",
            )
        version = version_at(cut, coverage, row, decode_past(stored))
        if isinstance(version, NotCovered):
            raise self._gone(moment, replica.partition, version)
        if version is None or version.row is None:
            return None
        at_ms = time_of(moment)
        if is_due(version.row, NEVER_DUE_MS if at_ms is None else at_ms):
            return None
        return shape(replica.partition, key, version.row)

    def records(self, key: bytes) -> list[Record]:
        """Every version of the key that is kept, deletes included, the oldest first."""
        replica = self._replica(key)
        row, stored = _stored(replica, key)
        kept = versions_of(row, decode_past(stored))
        return [_record(replica.partition, key, version) for version in kept]

    def _replica(self, key: bytes) -> Replica:
        partition = self._keyspace.partition_of(key)
        self._serving.admit_read((partition,), None, _WAIT_S, allow_stale=False)
        return self._replicas.at(partition)

    def _cut(self, moment: Moment, replica: Replica) -> VersionCut:
        """The moment in the log of the key's partition; waits until that is read."""
        partition = replica.partition
        if isinstance(moment, Version):
            moment = Position.after(moment)
        refuse_foreign(moment, replica.topic_id)
        if isinstance(moment, Position):
            if partition not in moment.offsets:
                raise ConfigError(
                    f"the key is in partition {partition}, which {moment} does not name",
                    hint="give a position of all partitions, a version of this key, or a time",
                )
            below = moment.offsets[partition]
            self._replicas.wait_for(Position({partition: below}), _WAIT_S)
            return VersionCut(below=below)
        time_ms = as_milliseconds(moment)
        if time_ms > self._clock.now_ms():
            raise ConfigError(
                f"{time_ms} ms is in the future", hint="give milliseconds since 1970, not seconds"
            )
        if time_ms >= replica.at_end_ms:
            end = self._admin.stable_offsets(self._replicas.topic, [partition])
            self._replicas.wait_for(Position(end), _WAIT_S)
        return VersionCut(until_ms=time_ms)

    def _gone(self, moment: Moment, partition: int, unknown: NotCovered) -> MomentGoneError:
        earliest = f"the position {partition}:{unknown.below}"
        # Without a time where the log has not been read up to that position yet.
        if 0 < unknown.since_ms <= self._clock.now_ms():
            earliest += f" or {datetime.fromtimestamp(unknown.since_ms / 1000, UTC).isoformat()}"
        return MomentGoneError(
            f"the value of the key at {moment} is no longer known here; the earliest known one is "
            f"{earliest}",
            hint="keep more with versions=, set min.compaction.lag.ms, or ask as_of(moment)",
        )


def _past_builder(replica: Replica) -> PastBuilder:
    if replica.versions is None:
        raise RuntimeError("a table that keeps versions keeps those of every partition")
    return replica.versions


def _stored(replica: Replica, key: bytes) -> tuple[bytes | None, bytes | None]:
    """The key's row and its past."""
    try:
        return _past_builder(replica).store.versions([key])[0]
    except StoreError as error:
        raise replica.explained(error) from error


def _record(partition: int, key: bytes, version: KeyVersion) -> Record:
    if version.row is None:
        return Record(partition, version.offset, version.seen_from_ms, key, None)
    row = decode_row(version.row)
    return Record(partition, row.offset, row.timestamp_ms, key, row.value, row.headers)
