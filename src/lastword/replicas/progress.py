"""How far a restore has come: for progress bars, listeners and diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from lastword.replicas.partition_follower import PartitionFollower


@dataclass(frozen=True, slots=True)
class RestoreProgress:
    """One partition on its way to the captured end.

    Offsets are not counts: on a compacted topic many between ``start`` and ``end`` are empty.
    A partition that may have missed deletes is swept afterwards: of the ``sweep_offsets`` below its
    position, ``swept_offsets`` have been read again, and ``swept_rows`` rows compared with them.
    """

    partition: int
    start: int
    position: int
    end: int
    records: int
    blocked: bool
    sweep_offsets: int = 0
    swept_offsets: int = 0
    swept_rows: int = 0

    @property
    def done(self) -> bool:
        """Whether the captured end is reached."""
        return self.position >= self.end


def progress_of(follower: PartitionFollower, records: int, *, blocked: bool) -> RestoreProgress:
    """How far the follower has come, after that many records."""
    offsets, sweep = follower.offsets, follower.sweep
    return RestoreProgress(
        partition=follower.partition,
        start=offsets.start,
        position=offsets.next_offset,
        end=offsets.target,
        records=records,
        blocked=blocked,
        sweep_offsets=0 if sweep is None else sweep.end - sweep.start,
        swept_offsets=0 if sweep is None else sweep.position - sweep.start,
        swept_rows=0 if sweep is None else sweep.rows,
    )


def still_to_do(progress: Iterable[RestoreProgress]) -> str:
    """The same in words, for an error."""
    unread = unswept = 0
    for each in progress:
        unread += max(0, each.end - each.position)
        unswept += each.sweep_offsets - each.swept_offsets
    return f"{unread} offsets are unread" + (f", {unswept} are to be swept" if unswept else "")


def offsets_done(progress: Iterable[RestoreProgress]) -> tuple[int, int]:
    """(done, total) of a restore and the sweep that may follow it, in offsets."""
    done = total = 0
    for each in progress:
        total += max(0, each.end - each.start) + each.sweep_offsets
        done += max(0, min(each.position, each.end) - each.start) + each.swept_offsets
    return done, total


OnProgress = Callable[[list[RestoreProgress]], None]
"""Called periodically during a wait for a restore, on the waiting thread."""


class RestoreListener(Protocol):
    """Called during each partition's restore, on the tailing thread: return quickly."""

    def on_start(self, topic: str, partition: int, start: int, end: int) -> None:
        """A restore begins; ``start`` above the log's first offset means it is a partial one."""

    def on_batch(self, topic: str, partition: int, position: int, records: int) -> None:
        """A batch was applied or gathered."""

    def on_end(self, topic: str, partition: int, records: int) -> None:
        """The captured end is reached."""
