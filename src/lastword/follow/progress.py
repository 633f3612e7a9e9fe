"""How far a restore has come: for progress bars, listeners and diagnosis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lastword.follow.partition import PartitionFollower


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """One partition on its way to the captured end.

    Offsets are not counts: on a compacted topic many between ``start`` and ``end`` are empty.
    """

    partition: int
    start: int
    position: int
    end: int
    records: int
    blocked: bool

    @property
    def done(self) -> bool:
        """Whether the captured end is reached."""
        return self.position >= self.end


def progress_of(follower: PartitionFollower, records: int, *, blocked: bool) -> RestoreProgress:
    """How far the follower has come, after that many records."""
    return RestoreProgress(
        partition=follower.partition,
        start=follower.start,
        position=follower.gathered,
        end=follower.target,
        records=records,
        blocked=blocked,
    )


class RestoreListener(Protocol):
    """Hears of each partition's restore, on the tailing thread: return quickly."""

    def on_start(self, topic: str, partition: int, start: int, end: int) -> None:
        """A restore begins; ``start`` above the log's first offset means it is a partial one."""

    def on_batch(self, topic: str, partition: int, position: int, records: int) -> None:
        """A batch was applied or gathered."""

    def on_end(self, topic: str, partition: int, records: int) -> None:
        """The captured end is reached."""
