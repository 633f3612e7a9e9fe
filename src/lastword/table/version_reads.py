"""Reads of past moments from the versions that a table keeps locally: exact, or refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lastword.clock import Clock
from lastword.errors import ConfigError, MomentGoneError, NotReadyError
from lastword.records import Position, Record, Version
from lastword.replicas.replica import Replica
from lastword.replicas.versions.keeper import VersionKeeper
from lastword.replicas.versions.known_past import Unknown, version_at
from lastword.replicas.versions.versions import Cut, KeyVersion, decode_past, versions_of
from lastword.snapshots.travel.moments import Moment, as_milliseconds
from lastword.table.decoder import Decoder
from lastword.table.entry import Change, Entry
from lastword.table.parts import Parts
from lastword.table.queries import AT_LEAST_TIMEOUT_S, EnsureReady
from lastword.table.raw import RawEntry, raw_entry


def refuse_foreign(moment: Moment, topic_id: str) -> None:
    """Raise MomentGoneError for a position of a topic that was deleted and created again."""
    if isinstance(moment, Position) and moment.is_foreign_to(topic_id):
        raise MomentGoneError(
            f"the position {moment} is of a topic that was deleted",
            hint=f"the topic that has its name now has the id {topic_id}",
        )


class VersionReads:
    """Answers for one key at a past moment. Safe to use from any thread."""

    def __init__(self, parts: Parts, topic: str, clock: Clock, ensure_ready: EnsureReady) -> None:
        self._replicas = parts.replicas
        self._keyspace = parts.record_filter.keyspace
        self._admin = parts.admin
        self._decoder: Decoder = parts.decoder
        self._topic = topic
        self._clock = clock
        self._ensure_ready = ensure_ready

    def entry(self, key: Any, moment: Moment) -> Entry | None:
        """What the key was then, or None when it was not there."""
        raw = self._decoder.key.encode(key)
        partition, row = self._row(raw, moment)
        return None if row is None else self._decoder.entry(partition, raw, row)

    def raw_entry(self, key: bytes, moment: Moment) -> RawEntry | None:
        """The same in bytes, for whoever passes it on."""
        partition, row = self._row(key, moment)
        return None if row is None else raw_entry(partition, key, row)

    def changes(self, key: Any) -> list[Change]:
        """Every version of the key that is kept, the oldest first."""
        self._ensure_ready(None)
        raw = self._decoder.key.encode(key)
        replica, keeper = self._home(raw)
        row, stored = keeper.store.versions([raw])[0]
        kept = versions_of(row, decode_past(stored))
        found = (self._change(replica.partition, raw, version) for version in kept)
        return [change for change in found if change is not None]

    def _row(self, raw: bytes, moment: Moment) -> tuple[int, bytes | None]:
        """Partition and row; raises MomentGoneError, or NotReadyError where a retry may help."""
        self._ensure_ready(None)
        replica, keeper = self._home(raw)
        cut = self._cut(moment, replica)
        with self._replicas.one_moment([replica.partition]):
            row, stored = keeper.store.versions([raw])[0]
            note, stale = keeper.note, replica.unsound
        if stale:
            raise NotReadyError(
                f"{self._topic} may hold deleted keys until a sweep has finished",
                hint="try again in a moment; delete.retention.ms may be too short for this table",
            )
        if note.unsure_at_ms is not None:
            raise NotReadyError(
                f"the past of {self._topic} is not known until its end has been asked for",
                hint="try again in a second",
            )
        version = version_at(cut, note, row, decode_past(stored))
        if isinstance(version, Unknown):
            raise self._gone(raw, moment, replica.partition, version)
        return replica.partition, None if version is None else version.row

    def _home(self, raw: bytes) -> tuple[Replica, VersionKeeper]:
        replica = self._replicas.at(self._keyspace.partition_of(raw))
        if replica.versions is None:
            raise RuntimeError("a table that keeps versions has them in every partition")
        return replica, replica.versions

    def _change(self, partition: int, raw: bytes, version: KeyVersion) -> Change | None:
        if version.row is None:
            gone = Record(partition, version.offset, version.seen_from_ms, raw, None)
            return self._decoder.change(gone)
        entry = self._decoder.entry(partition, raw, version.row)
        if entry is None:
            return None
        return Change(
            entry.key, entry.value, False, entry.version, entry.timestamp_ms, entry.headers
        )

    def _cut(self, moment: Moment, replica: Replica) -> Cut:
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
            self._replicas.wait_for(Position({partition: below}), AT_LEAST_TIMEOUT_S)
            return Cut(below=below)
        time_ms = as_milliseconds(moment)
        if time_ms > self._clock.now_ms():
            raise ConfigError(
                f"{time_ms} ms lies in the future", hint="give milliseconds since 1970, not seconds"
            )
        if time_ms >= replica.at_end_ms:
            end = self._admin.stable_offsets(self._topic, [partition])
            self._replicas.wait_for(Position(end), AT_LEAST_TIMEOUT_S)
        return Cut(until_ms=time_ms)

    def _gone(
        self, raw: bytes, moment: Moment, partition: int, unknown: Unknown
    ) -> MomentGoneError:
        earliest = f"the position {partition}:{unknown.below}"
        # Without a time where the log has not been read up to that position yet.
        if 0 < unknown.since_ms <= self._clock.now_ms():
            earliest += f" or {datetime.fromtimestamp(unknown.since_ms / 1000, UTC).isoformat()}"
        return MomentGoneError(
            f"{self._decoder.key.decode(raw)!r} at {moment} is no longer known here; the earliest "
            f"moment that is: {earliest}",
            hint="keep more with versions=, set min.compaction.lag.ms, or ask as_of(moment)",
        )
