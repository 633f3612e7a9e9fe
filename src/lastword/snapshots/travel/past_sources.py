"""What is known of a topic's past: snapshots, history and the observed settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from lastword.errors import ConfigError, MomentGoneError
from lastword.kafka.log.source import LogSource
from lastword.records import Position, Version
from lastword.replicas.topic.protection import ObservedProtection
from lastword.replicas.topic.topic_state import TopicState
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot import Snapshot, why_another_table
from lastword.snapshots.travel.moments import Moment, as_milliseconds
from lastword.snapshots.travel.replay import ReplayEnd
from lastword.snapshots.travel.truncation import not_torn

if TYPE_CHECKING:
    from lastword.snapshots.travel.history import HistoryCommit


class Target(NamedTuple):
    """A moment of one log: a snapshot that is of it, or where to cut each partition."""

    snapshot: Snapshot | None
    cuts: dict[int, ReplayEnd]
    what: str


@dataclass(frozen=True)
class PastSources:
    """All of it is of one log, the newest first. Moments are resolved by these positions alone."""

    now: ObservedProtection
    snapshots: Sequence[Snapshot]
    history: Sequence[HistoryCommit]
    seen: Sequence[ObservedProtection]

    @property
    def observed(self) -> list[ObservedProtection]:
        """Every observation, oldest first; the last one is current."""
        recorded = [each.protection for each in self.snapshots] + [
            each.protection for each in self.history
        ]
        return [
            *sorted([*recorded, *self.seen], key=lambda each: each.at_ms),
            self.now,
        ]

    def resolve(self, topic: str, moment: Moment) -> Target:
        """Resolve ``moment``; raises ConfigError if it is in the future."""
        if isinstance(moment, Version):
            moment = Position.after(moment)
        if isinstance(moment, Position):
            self._require_reached(topic, moment)
            cuts = {p: ReplayEnd(at) for p, at in moment.offsets.items()}
            return Target(self._snapshot_at(moment), cuts, f"{topic} at {moment}")
        time_ms = as_milliseconds(moment)
        if time_ms > self.now.answered_at_ms:
            raise ConfigError(
                f"{time_ms} ms is in the future", hint="give milliseconds since 1970, not seconds"
            )
        what = f"{topic} at {time_ms} ms"
        snapshot = self._snapshot_of(time_ms)
        if snapshot is not None:
            return Target(
                snapshot, {p: ReplayEnd(at) for p, at in snapshot.metadata.offsets.items()}, what
            )
        return Target(None, self._cuts_at(time_ms), what)

    def _require_reached(self, topic: str, position: Position) -> None:
        ends = self.now.ends
        if not position.offsets or any(
            p not in ends or at > ends[p] for p, at in position.offsets.items()
        ):
            raise ConfigError(
                f"{topic} has not reached {str(position)!r} yet",
                hint=f"it ends at {Position(ends)}",
            )

    def _snapshot_at(self, position: Position) -> Snapshot | None:
        """One that was cut exactly there."""
        wanted = position.offsets.items()
        return next(
            (each for each in self.snapshots if wanted <= each.metadata.offsets.items()), None
        )

    def _snapshot_of(self, time_ms: int) -> Snapshot | None:
        """The one that has this very time."""
        found = (each for each in self.snapshots if each.metadata.captured_at_ms == time_ms)
        return next(found, None)

    def base_of(self, cuts: dict[int, ReplayEnd]) -> Snapshot | None:
        """The newest one to which only changes before the cuts have to be added."""
        for snapshot in self.snapshots:
            offsets = snapshot.metadata.offsets
            if all(offsets[p] <= _certain(cut) for p, cut in cuts.items()):
                return snapshot
        return None

    def _cuts_at(self, time_ms: int) -> dict[int, ReplayEnd]:
        """Between the last position known to be reached at that time, and the next one."""
        observed = self.observed
        reached = [
            protection.ends for protection in observed if protection.answered_at_ms <= time_ms
        ]
        beyond = [protection.ends for protection in observed if protection.at_ms >= time_ms]
        floor = reached[-1] if reached else {}
        ceiling = beyond[0] if beyond else self.now.ends
        return {p: ReplayEnd(at, min(at, floor.get(p, 0)), time_ms) for p, at in ceiling.items()}

    def gone(self, what: str, since_ms: int) -> MomentGoneError:
        """The error, which names the earliest moment that can be answered."""
        earliest_ms = min([since_ms, *(each.metadata.captured_at_ms for each in self.snapshots)])
        earliest = datetime.fromtimestamp(earliest_ms / 1000, UTC).isoformat()
        return MomentGoneError(
            f"{what} cannot be answered exactly: compaction may have removed changes; the "
            f"earliest moment that can be answered is {earliest}",
            hint="keep more: snapshots with --history, or a larger min.compaction.lag.ms",
        )


def read_past_sources(
    log_source: LogSource,
    location: Location | None,
    topic_state: TopicState,
    now: ObservedProtection,
    *,
    key_suffix_bytes: int,
    seen: Iterable[ObservedProtection] = (),
) -> PastSources:
    """Look up all sources of this log, of any age: each is exact at its position."""
    if location is None or not location.may_hold_any:
        return PastSources(now, (), (), tuple(seen))
    from lastword.snapshots.catalog.snapshot_catalog import Catalog  # noqa: PLC0415 - loads deltalake
    from lastword.snapshots.travel.history import History  # noqa: PLC0415

    snapshots = [
        each
        for each in Catalog(location.snapshots).snapshots()
        if why_another_table(each.metadata, topic_state, key_suffix_bytes) is None
        and each.sound
        and each.exact
    ]
    return PastSources(
        now,
        not_torn(log_source, topic_state, snapshots),
        not_torn(log_source, topic_state, History(location.history).of(topic_state)),
        tuple(seen),
    )


def _certain(cut: ReplayEnd) -> int:
    """Up to where everything is before the cut."""
    return cut.ceiling if cut.time_ms is None else cut.floor
