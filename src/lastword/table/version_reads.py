"""Reads of past moments from the versions that a table keeps locally: exact, or refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol, TypeVar

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


class VersionSource(Protocol):
    """Finds the versions of a key: in the stores of this process, or wherever its partition is."""

    def version_at(self, partition: int, key: bytes, cut: VersionCut) -> KeyVersion | None:
        """The version that the key had at that moment; None if there was none.

        Raises MomentGoneError, or NotReadyError where a retry may help.
        """

    def kept(self, partition: int, key: bytes) -> list[KeyVersion]:
        """Every version of the key that is kept, deletes included, the oldest first."""


class VersionReads:
    """Answers for one key at a past moment, in bytes. Safe to use from any thread."""

    def __init__(
        self, replicas: ReplicaSet, keyspace: Keyspace, source: VersionSource, clock: Clock
    ) -> None:
        self._replicas, self._keyspace = replicas, keyspace
        self._source, self._clock = source, clock

    def through(self, source: VersionSource) -> VersionReads:
        """The same reads, answered by another source."""
        return VersionReads(self._replicas, self._keyspace, source, self._clock)

    def get(self, key: bytes, moment: Moment) -> RawEntry | None:
        """The key's entry at that moment, or None if it was absent."""
        return self.read(key, moment, raw_entry)

    def read(self, key: bytes, moment: Moment, shape: Shape[T]) -> T | None:
        """The same, as ``shape`` gives it.

        Raises MomentGoneError, or NotReadyError where a retry may help.
        """
        partition = self._keyspace.partition_of(key)
        version = self._source.version_at(partition, key, self._cut(moment, partition))
        if version is None or version.row is None:
            return None
        at_ms = time_of(moment)
        if is_due(version.row, NEVER_DUE_MS if at_ms is None else at_ms):
            return None
        return shape(partition, key, version.row)

    def records(self, key: bytes) -> list[Record]:
        """Every version of the key that is kept, deletes included, the oldest first."""
        partition = self._keyspace.partition_of(key)
        return [_record(partition, key, each) for each in self._source.kept(partition, key)]

    def _cut(self, moment: Moment, partition: int) -> VersionCut:
        """The moment in the log of the key's partition."""
        if isinstance(moment, Version):
            moment = Position.after(moment)
        refuse_foreign(moment, self._replicas.topic_state.topic_id)
        if isinstance(moment, Position):
            if partition not in moment.offsets:
                raise ConfigError(
                    f"the key is in partition {partition}, which {moment} does not name",
                    hint="give a position of all partitions, a version of this key, or a time",
                )
            return VersionCut(below=moment.offsets[partition])
        time_ms = as_milliseconds(moment)
        if time_ms > self._clock.now_ms():
            raise ConfigError(
                f"{time_ms} ms is in the future", hint="give milliseconds since 1970, not seconds"
            )
        return VersionCut(until_ms=time_ms)


class LocalVersions:
    """The versions that are kept in the stores of this process."""

    def __init__(self, replicas: ReplicaSet, admin: Admin, serving: Serving, clock: Clock) -> None:
        self._replicas, self._admin = replicas, admin
        self._serving, self._clock = serving, clock

    def version_at(
        self, partition: int, key: bytes, cut: VersionCut, timeout_s: float = _WAIT_S
    ) -> KeyVersion | None:
        """The version at that moment; waits until the log is read up to there."""
        replica = self._replica(partition)
        self._wait_for(cut, replica, timeout_s)
        past_builder = _past_builder(replica)
        with self._replicas.one_moment((partition,)):
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
            raise self._gone(cut, partition, version)
        return version

    def kept(self, partition: int, key: bytes) -> list[KeyVersion]:
        """Every version of the key that is kept here, the oldest first."""
        row, stored = _stored(self._replica(partition), key)
        return versions_of(row, decode_past(stored))

    def _replica(self, partition: int) -> Replica:
        self._serving.admit_read((partition,), None, _WAIT_S, allow_stale=False)
        return self._replicas.at(partition)

    def _wait_for(self, cut: VersionCut, replica: Replica, timeout_s: float) -> None:
        partition = replica.partition
        if cut.below is not None:
            self._replicas.wait_for(Position({partition: cut.below}), timeout_s)
        elif (cut.until_ms or 0) >= replica.at_end_ms:
            end = self._admin.stable_offsets(self._replicas.topic, [partition])
            self._replicas.wait_for(Position(end), timeout_s)

    def _gone(self, cut: VersionCut, partition: int, unknown: NotCovered) -> MomentGoneError:
        earliest = f"the position {partition}:{unknown.below}"
        # Without a time where the log has not been read up to that position yet.
        if 0 < unknown.since_ms <= self._clock.now_ms():
            earliest += f" or {_as_time(unknown.since_ms)}"
        at = f"{partition}:{cut.below}" if cut.until_ms is None else _as_time(cut.until_ms)
        return MomentGoneError(
            f"the value of the key at {at} is no longer known here; the earliest known one is "
            f"{earliest}",
            hint="keep more with versions=, set min.compaction.lag.ms, or ask as_of(moment)",
        )


def _as_time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()


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
