"""The rows of a table at a past moment: from the log where it still has them, else a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lastword.clock import Clock
from lastword.errors import ConfigError
from lastword.follow.facts import TopicFacts, look_up
from lastword.follow.judge import Judge
from lastword.follow.retention import may_have_missed_deletes
from lastword.kafka.admin import Admin
from lastword.kafka.log_reader import read_range
from lastword.records import Position, Version
from lastword.snapshots.location import Location
from lastword.snapshots.moments import Evidence, Moment, as_milliseconds, complete_since_ms
from lastword.snapshots.snapshot import Snapshot

Rows = dict[int, dict[bytes, bytes]]
"""Partition -> key -> row, as stores keep them."""


@dataclass(frozen=True)
class Past:
    """A table as it was at ``position``; partitions that the position does not name are absent."""

    position: Position
    rows: Mapping[int, Mapping[bytes, bytes]]


class TimeTravel:
    """Answers for past moments of one topic; raises MomentGoneError rather than guess."""

    def __init__(
        self, admin: Admin, topic: str, judge: Judge, location: Location | None, clock: Clock
    ) -> None:
        self._admin = admin
        self._topic = topic
        # Every record counts as it is: what cannot be decoded is told to whoever reads it.
        self._judge = replace(judge, validate=None)
        self._location = location
        self._clock = clock

    def at(self, moment: Moment) -> Past:
        """The table as of ``moment``: a time, a position, or just after a version."""
        facts = look_up(self._admin, self._topic, self._clock.now_ms())
        evidence = self._evidence(facts, self._snapshots(facts))
        position = self._position(moment, evidence)
        what = f"{self._topic} at {position}"
        snapshot = evidence.snapshot_at(position)
        if snapshot is not None:
            return Past(position, self._from_snapshot(snapshot, position))
        if not evidence.log_has(position):
            raise evidence.gone(what)
        rows = self._from_log(facts, position)
        # The cleaner may have moved while the log was read; only what holds now was true then.
        after = look_up(self._admin, self._topic, self._clock.now_ms())
        later = self._evidence(after, evidence.snapshots)
        slow = may_have_missed_deletes(after.at_ms - facts.at_ms, facts.delete_retention_ms)
        moved = after.topic_id != facts.topic_id or after.starts != facts.starts
        if slow or moved or not later.log_has(position):
            raise later.gone(what)
        return Past(position, rows)

    def _position(self, moment: Moment, evidence: Evidence) -> Position:
        if isinstance(moment, Version):
            moment = Position.after(moment)
        if isinstance(moment, Position):
            if not moment.offsets or any(
                p not in evidence.ends or at > evidence.ends[p] for p, at in moment.offsets.items()
            ):
                raise ConfigError(
                    f"{self._topic} has not been at {str(moment)!r} yet",
                    hint=f"it ends at {Position(evidence.ends)}",
                )
            return moment
        time_ms = as_milliseconds(moment)
        if time_ms > evidence.now_ms:
            raise ConfigError(
                f"{time_ms} ms lies in the future", hint="give milliseconds since 1970, not seconds"
            )
        if evidence.complete_since_ms is not None and time_ms >= evidence.complete_since_ms:
            later = self._admin.offsets_since(self._topic, evidence.ends, time_ms + 1)
            return Position({p: min(at, evidence.ends[p]) for p, at in later.items()})
        position = evidence.position_of_snapshots(time_ms)
        if position is None:
            raise evidence.gone(f"{self._topic} at {time_ms} ms")
        return position

    def _evidence(self, facts: TopicFacts, snapshots: Sequence[Snapshot]) -> Evidence:
        settings = self._admin.settings(self._topic)
        # A log that also deletes by age has lost rows that no compaction rule protects.
        lag_ms = 0 if any(facts.starts.values()) else int(settings["min.compaction.lag.ms"])
        since_ms = complete_since_ms(facts.at_ms, lag_ms)
        bound = None
        if since_ms is not None:
            bound = self._admin.offsets_since(self._topic, facts.stable_ends, since_ms)
        return Evidence(
            now_ms=facts.at_ms,
            ends=facts.stable_ends,
            complete_from=bound,
            complete_since_ms=since_ms,
            snapshots=snapshots,
        )

    def _snapshots(self, facts: TopicFacts) -> list[Snapshot]:
        """Those of this very log, however old: each is exact at its own position."""
        if self._location is None:
            return []
        from lastword.snapshots.catalog import Catalog  # noqa: PLC0415 - loads deltalake

        return [
            each
            for each in Catalog(self._location.snapshots).snapshots()
            if each.note.topic_id == facts.topic_id
            and each.note.cluster_id == facts.cluster_id
            and len(each.note.offsets) == facts.partitions
            and each.sound
        ]

    def _from_snapshot(self, snapshot: Snapshot, position: Position) -> Rows:
        from lastword.snapshots.reading import read_batches  # noqa: PLC0415 - loads deltalake
        from lastword.snapshots.source import store_rows  # noqa: PLC0415

        if self._location is None:
            raise RuntimeError("a snapshot has a place")
        uri, rows = self._location.snapshots, Rows()
        for partition in position.offsets:
            of_partition = rows.setdefault(partition, {})
            for batch in read_batches(uri, snapshot.version, partition):
                of_partition.update(store_rows(batch))
        return rows

    def _from_log(self, facts: TopicFacts, position: Position) -> Rows:
        rows: Rows = {partition: {} for partition in position.offsets}
        ranges = {p: (facts.starts[p], at) for p, at in position.offsets.items()}
        for batch in read_range(self._admin.connection, self._topic, ranges):
            verdict = self._judge.verdict(batch)
            of_partition = rows[batch.partition]
            of_partition.update(verdict.puts)
            for key in verdict.deletes:
                of_partition.pop(key, None)
        return rows
