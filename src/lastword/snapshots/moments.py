"""Which past states can be answered exactly, and from where.

What compaction has removed leaves no trace, and gaps in the offsets prove nothing. So a log is
trusted only where ``min.compaction.lag.ms`` forbids the cleaner to have been: it leaves alone every
segment that holds a record younger than that, and all that come after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lastword.errors import ConfigError, MomentGoneError
from lastword.records import Position, Version
from lastword.snapshots.snapshot import Snapshot

Moment = int | datetime | Position | Version
"""Milliseconds since 1970, a time, the offsets up to which to look, or a version just written."""

_MARGIN_MS_MAX = 60_000


@dataclass(frozen=True)
class Evidence:
    """What is known at ``now_ms``.

    The log is complete from ``complete_from`` on, and for times since ``complete_since_ms``; both
    are None where nothing protects it from the cleaner.
    """

    now_ms: int
    ends: Mapping[int, int]
    complete_from: Mapping[int, int] | None
    complete_since_ms: int | None
    snapshots: Sequence[Snapshot]

    def log_has(self, position: Position) -> bool:
        """Whether the log still says what every key was at ``position``.

        A record that the cleaner removed below that was followed by another one of its key.
        """
        bound = self.complete_from
        return bound is not None and all(at >= bound[p] for p, at in position.offsets.items())

    def snapshot_at(self, position: Position) -> Snapshot | None:
        """A snapshot that was cut exactly there."""
        wanted = position.offsets.items()
        return next((each for each in self.snapshots if wanted <= each.note.offsets.items()), None)

    def position_of_snapshots(self, time_ms: int) -> Position | None:
        """Where the table was then, if nothing can have been written between two of them."""
        after = self.ends
        for snapshot in self.snapshots:
            note = snapshot.note
            if note.captured_at_ms <= time_ms:
                exact = note.captured_at_ms == time_ms or note.offsets == after
                return snapshot.position if exact else None
            after = note.offsets
        return None

    def gone(self, what: str) -> MomentGoneError:
        """The refusal, which names the earliest moment that can be had."""
        moments = [each.note.captured_at_ms for each in self.snapshots]
        if self.complete_since_ms is not None:
            moments.append(self.complete_since_ms)
        if not moments:
            return MomentGoneError(
                f"{what} cannot be answered exactly: the log may be compacted up to its end, and "
                "there is no snapshot",
                hint="set min.compaction.lag.ms to how far back you will look, or take snapshots",
            )
        earliest = datetime.fromtimestamp(min(moments) / 1000, UTC).isoformat()
        return MomentGoneError(
            f"{what} cannot be answered exactly; the earliest moment that can is {earliest}",
            hint="see also the moments of the snapshots: lastword snapshot list",
        )


def complete_since_ms(now_ms: int, compaction_lag_ms: int) -> int | None:
    """From which record time on the cleaner cannot have been there; with a margin for clocks."""
    if compaction_lag_ms <= 0:
        return None
    return now_ms - compaction_lag_ms + min(compaction_lag_ms // 10, _MARGIN_MS_MAX)


def as_milliseconds(moment: int | datetime) -> int:
    """A time as milliseconds since 1970; without a zone it is UTC."""
    if isinstance(moment, int):
        return moment
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def parse_moment(text: str) -> Moment:
    """What people write: milliseconds, an ISO time, or a position.

    >>> parse_moment("0:12,1:7")
    Position(offsets={0: 12, 1: 7})
    """
    if text.isdecimal():
        return int(text)
    if ":" in text and "-" not in text:
        return Position.parse(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"{text!r} is no moment",
            hint="2026-01-31T12:00:00Z, milliseconds since 1970, or a position such as 0:12,1:7",
        ) from None
