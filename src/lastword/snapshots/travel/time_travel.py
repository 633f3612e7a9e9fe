"""The rows of a table at a past moment: from snapshots, history and the log, exact or refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from lastword.clock import Clock
from lastword.errors import SnapshotError
from lastword.kafka.admin import Admin
from lastword.kafka.log.source import LogSource
from lastword.records import Position
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.sweep.retention import may_have_missed_deletes
from lastword.replicas.topic.protection import ObservedProtection, protection_seen
from lastword.replicas.topic.topic_state import TopicState, read_topic_state
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot import Snapshot
from lastword.snapshots.travel.log_completeness import LogCompleteness, log_completeness
from lastword.snapshots.travel.moments import Moment
from lastword.snapshots.travel.past_sources import PastSources, Target, read_past_sources
from lastword.snapshots.travel.replay import LostChangesError, PastReplay, ReplayEnd

log = logging.getLogger(__name__)

Replays = dict[int, PastReplay]
SizeListener = Callable[[int], None]
"""Called now and then with the bytes of rows so far; may raise to abort."""


def unwatched(_size_bytes: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Past:
    """A table as it was at ``position``; partitions that the position does not name are absent."""

    position: Position
    rows: Mapping[int, Mapping[bytes, bytes]]


class TravelRoute(NamedTuple):
    """Where to begin, and whether to read the history before the log."""

    base: Snapshot | None
    history: bool

    def __str__(self) -> str:
        start = "its start" if self.base is None else f"snapshot {self.base.metadata.number}"
        return f"{start}, {'history and ' if self.history else ''}log"


class TimeTravel:
    """Reads past moments of one topic; raises MomentGoneError rather than guess.

    ``seen`` are the settings of the topic that this process has observed.
    """

    def __init__(
        self,
        admin: Admin,
        log_source: LogSource,
        topic: str,
        record_filter: RecordFilter,
        location: Location | None,
        *,
        clock: Clock,
        seen: Callable[[TopicState], Iterable[ObservedProtection]] = lambda _topic_state: (),
    ) -> None:
        self._admin = admin
        self._log_source = log_source
        self._topic = topic
        # Every record counts, decodable or not: reading it raises the decode error.
        self._filter = replace(record_filter, validate=None)
        self._location = location
        self._clock = clock
        self._seen = seen

    def at(self, moment: Moment, progress: SizeListener = unwatched) -> Past:
        """The table as of ``moment``: a time, a position, or just after a version."""
        topic_state, now = self._look()
        known = read_past_sources(
            self._log_source,
            self._location,
            topic_state,
            now,
            key_suffix_bytes=self._filter.keyspace.suffix_bytes,
            seen=self._seen(topic_state),
        )
        target = known.resolve(self._topic, moment)
        found = log_completeness(self._admin, self._topic, known.observed)
        # Which rows had left a log by age at some moment, only a snapshot of that moment tells.
        ages = topic_state.deletes_old_segments or any(topic_state.starts.values())
        for route in _routes(known, target, ages=ages):
            try:
                replays = self._replay(known, target.cuts, found, route, progress)
                self._check_again(topic_state, known, replays)
            except LostChangesError as error:
                log.debug("%s, not by %s: %s", target.what, route, error)
            except SnapshotError as error:
                log.warning("%s, not by %s: %s", target.what, route, error)
            else:
                return self._past(replays)
        raise known.gone(target.what, now.at_ms if ages else found.since_ms)

    def _look(self) -> tuple[TopicState, ObservedProtection]:
        topic_state = read_topic_state(self._admin, self._topic, self._clock.now_ms())
        return topic_state, protection_seen(topic_state, self._clock.now_ms())

    # -- from where ----------------------------------------------------------------------------

    def _replay(
        self,
        known: PastSources,
        cuts: dict[int, ReplayEnd],
        found: LogCompleteness,
        route: TravelRoute,
        progress: SizeListener,
    ) -> Replays:
        replays = self._begin(route.base, cuts, progress)
        if route.history:
            self._add_history(known, replays, progress)
        self._add_log(replays, found, progress)
        return replays

    def _begin(
        self, base: Snapshot | None, cuts: Mapping[int, ReplayEnd], progress: SizeListener
    ) -> Replays:
        if base is None:
            return {p: PastReplay(self._filter, cut) for p, cut in cuts.items()}
        from lastword.snapshots.travel.delta_reads import read_batches  # noqa: PLC0415 - loads deltalake
        from lastword.snapshots.travel.snapshot_source import store_rows  # noqa: PLC0415

        if self._location is None:
            raise RuntimeError("a snapshot has a place")
        replays: Replays = {}
        for partition, cut in cuts.items():
            rows: dict[bytes, bytes] = {}
            for batch in read_batches(self._location.snapshots, base.delta_version, partition):
                rows.update(store_rows(batch))
            at = base.metadata.offsets[partition]
            replays[partition] = PastReplay(self._filter, cut, at, rows, from_start=False)
            progress(_size(replays))
        return replays

    def _add_history(self, known: PastSources, replays: Replays, progress: SizeListener) -> None:
        from lastword.snapshots.travel.history import History  # noqa: PLC0415 - loads deltalake

        if self._location is None:
            raise RuntimeError("a history has a place")
        newest = known.history[0]
        history, metadata = History(self._location.history), newest.metadata
        for partition, replay in replays.items():
            end = min(metadata.offsets[partition], replay.cut.ceiling)
            if replay.done or not metadata.held_from[partition] <= replay.at < end:
                continue
            replay.begin(trusted=replay.at >= newest.complete_from[partition])
            for batch in history.changes(
                partition, replay.at, end, delta_version=newest.delta_version
            ):
                replay.add(batch)
                progress(_size(replays))
            replay.end(end)

    def _add_log(self, replays: Replays, found: LogCompleteness, progress: SizeListener) -> None:
        ranges: dict[int, tuple[int, int]] = {}
        for partition, replay in replays.items():
            if not replay.done:
                replay.begin(trusted=_trusted(found, partition, replay, replay.at))
                ranges[partition] = (replay.at, replay.cut.ceiling)

        def stopping() -> bool:
            progress(_size(replays))  # it raises to give up, also while nothing arrives
            return False

        for batch in self._log_source.read(self._topic, ranges, stopping=stopping):
            replays[batch.partition].add(batch)
            progress(_size(replays))
        for partition in ranges:
            replays[partition].end(ranges[partition][1])
        for partition in replays.keys() - ranges.keys():
            replays[partition].relied = False  # on the log

    # -- whether it still holds ----------------------------------------------------------------

    def _check_again(self, before: TopicState, known: PastSources, replays: Replays) -> None:
        """Check again: the cleaner may have run while the log was read."""
        relied = {p: replay for p, replay in replays.items() if replay.relied}
        after, now = self._look()
        if after.topic_id != before.topic_id or after.starts != before.starts:
            raise LostChangesError("the log was replaced meanwhile")
        if not relied:
            return
        found = log_completeness(self._admin, self._topic, [*known.observed, now])
        slow = may_have_missed_deletes(after.at_ms - before.at_ms, before.delete_retention_ms)
        if slow or not all(_trusted(found, p, each, each.began_at) for p, each in relied.items()):
            raise LostChangesError("the cleaner may have run meanwhile")

    @staticmethod
    def _past(replays: Replays) -> Past:
        position = Position({p: replay.at for p, replay in replays.items()})
        return Past(position, {p: replay.rows for p, replay in replays.items()})


def _routes(known: PastSources, target: Target, *, ages: bool) -> list[TravelRoute]:
    """The ways to a past state, the cheapest first."""
    exact = [] if target.snapshot is None else [TravelRoute(target.snapshot, False)]
    if ages:
        return exact
    base, history = known.base_of(target.cuts), bool(known.history)
    routes = [] if base is None else [TravelRoute(base, history)]
    return [
        *exact,
        *routes,
        *([TravelRoute(None, True)] if history else []),
        TravelRoute(None, False),
    ]


def _trusted(found: LogCompleteness, partition: int, replay: PastReplay, start: int) -> bool:
    """Whether the log has all that the replay needs of it from ``start`` on, gaps or not."""
    if found.holds(partition, start):
        return True
    # From its start, a log also tells each state since the cleaner was last there: what it
    # removed below was followed by another record of its key, below as well.
    cut = replay.cut
    if not replay.from_start or start > 0:
        return False
    if cut.time_ms is None:
        return found.holds(partition, cut.ceiling)
    return cut.time_ms >= found.since_ms


def _size(replays: Replays) -> int:
    return sum(replay.size_bytes for replay in replays.values())
